package readme

import (
	"fmt"
	"regexp"
	"strings"
)

// MainTerminal is where blocks go that name no terminal.
const MainTerminal = "main"

// Block is something to type, or something that is shown.
type Block struct {
	Line     int    // of the page, where its text begins
	Terminal string // where it is typed or shown
	Text     string // what is typed; empty if only Shows counts
	Shows    string // what is shown then; empty if the page does not say
	Stays    bool   // the last command of Text does not end by itself
	NotRun   string // why nobody types it; empty if it is typed
	CtrlC    bool   // the keys are pressed, and nothing is typed
}

var comment = regexp.MustCompile(`^<!-- (not run|terminal|shows|ctrl-c): (.+?) -->$`)

const (
	fence    = "```"
	shell    = "sh"
	plain    = "text"
	andStays = ", stays"
)

// Parse gives the blocks of a page in order. Blocks in other languages than sh
// and text are for reading only.
func Parse(page string) ([]Block, error) {
	var blocks []Block
	var above []string // the comment right above, as matched
	follows := false   // nothing but empty lines since a block that is typed
	lines := strings.Split(page, "\n")
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "<!--"):
			above = comment.FindStringSubmatch(line)
			if above != nil && above[1] == "ctrl-c" {
				blocks = append(blocks, Block{Line: n + 1, Terminal: above[2], CtrlC: true})
				above = nil
			}
			if above != nil {
				continue
			}
		case strings.HasPrefix(line, fence):
			language, start := strings.TrimPrefix(line, fence), n+1
			for n++; n < len(lines) && lines[n] != fence; n++ {
			}
			if n == len(lines) {
				return nil, fmt.Errorf("line %d: the block does not end", start)
			}
			text := strings.Join(lines[start:n], "\n")
			switch {
			case language == shell:
				b, err := typed(above, start+1, text)
				if err != nil {
					return nil, err
				}
				blocks = append(blocks, b)
			case language == plain && above != nil && above[1] == "shows":
				blocks = append(blocks, Block{Line: start + 1, Terminal: above[2], Shows: text})
			case language == plain && follows && above == nil:
				blocks[len(blocks)-1].Shows = text
			}
			follows = language == shell
			above = nil
			continue
		}
		above, follows = nil, false
	}
	return blocks, nil
}

// typed is a block of commands with what the comment above says about it.
func typed(above []string, line int, text string) (Block, error) {
	b := Block{Line: line, Terminal: MainTerminal, Text: text}
	if above == nil {
		return b, nil
	}
	switch above[1] {
	case "not run":
		b.NotRun = above[2]
	case "terminal":
		b.Terminal, b.Stays = strings.CutSuffix(above[2], andStays)
	default:
		return b, fmt.Errorf("line %d: %q stands above commands", line, above[0])
	}
	return b, nil
}
