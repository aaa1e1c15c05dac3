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
	var above remark
	follows := false // nothing but empty lines since a block that is typed
	lines := strings.Split(page, "\n")
	for n := 0; n < len(lines); n++ {
		line := lines[n]
		switch {
		case strings.TrimSpace(line) == "":
			continue
		case strings.HasPrefix(line, "<!--"):
			above = remarked(line)
			if above.kind == "ctrl-c" {
				blocks = append(blocks, Block{Line: n + 1, Terminal: above.about, CtrlC: true})
				above = remark{}
			}
			continue
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
			case language == plain && above.kind == "shows":
				blocks = append(blocks, Block{Line: start + 1, Terminal: above.about, Shows: text})
			case language == plain && follows && above.kind == "":
				blocks[len(blocks)-1].Shows = text
			}
			follows, above = language == shell, remark{}
			continue
		}
		above, follows = remark{}, false
	}
	return blocks, nil
}

// remark is a comment for us right above a block.
type remark struct{ kind, about string }

// remarked reads one; of a comment for others nothing is left.
func remarked(line string) remark {
	if m := comment.FindStringSubmatch(line); m != nil {
		return remark{kind: m[1], about: m[2]}
	}
	return remark{}
}

// typed is a block of commands with what the comment above says about it.
func typed(above remark, line int, text string) (Block, error) {
	b := Block{Line: line, Terminal: MainTerminal, Text: text}
	switch above.kind {
	case "":
	case "not run":
		b.NotRun = above.about
	case "terminal":
		b.Terminal, b.Stays = strings.CutSuffix(above.about, andStays)
	default:
		return b, fmt.Errorf("line %d: commands below a comment that says %q", line, above.kind)
	}
	return b, nil
}
