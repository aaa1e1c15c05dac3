package skills

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// head is what stands in SKILL.md before the body. The keys below description mean
// something to other programs that read such folders, and nothing here.
type head struct {
	Name          string         `yaml:"name"`
	Description   string         `yaml:"description"`
	License       string         `yaml:"license"`
	Compatibility string         `yaml:"compatibility"`
	Metadata      map[string]any `yaml:"metadata"`
	AllowedTools  any            `yaml:"allowed-tools"`
}

// border is the line before and behind the head.
const border = "---"

// parse reads the text of SKILL.md. Each error begins with path, line and column.
func parse(path, folder string, source []byte) (head, string, error) {
	if at := badByte(source); at >= 0 {
		line := 1 + bytes.Count(source[:at], []byte("\n"))
		return head{}, "", fmt.Errorf("%s:%d:%d: this is no text: want UTF-8 without NUL", path, line, at-bytes.LastIndexByte(source[:at], '\n'))
	}
	text := strings.ReplaceAll(strings.TrimPrefix(string(source), "\ufeff"), "\r\n", "\n")
	first, rest, _ := strings.Cut(text, "\n")
	if strings.TrimRight(first, " \t") != border {
		return head{}, "", fmt.Errorf("%s:1:1: want %s, and then name and description, before the text", path, border)
	}
	yaml, body, closed := cutHead(rest)
	if !closed {
		return head{}, "", fmt.Errorf("%s:1:1: no line %s ends what begins here", path, border)
	}
	if len(yaml) > maxHeadBytes {
		return head{}, "", fmt.Errorf("%s:1:1: what stands before the text has %d bytes, at most %d are allowed", path, len(yaml), maxHeadBytes)
	}
	var h head
	read, err := yamlfile.ReadOn(path, []byte("\n"+yaml), &h, nil) // so that lines count from the file's first
	if err != nil {
		return head{}, "", err
	}
	check(read, &h, folder)
	body = strings.Trim(events.RepairText(body), "\n")
	if strings.TrimSpace(body) == "" {
		read.Wrong("$", "there is no text behind this")
	}
	return h, body, read.Err()
}

// check says what is wrong with the head.
func check(read *yamlfile.File, h *head, folder string) {
	h.Description = strings.Join(strings.Fields(h.Description), " ")
	switch err := events.ValidateSkill(h.Name); {
	case h.Name == "":
		read.Wrong("$", "name is missing")
	case err != nil:
		read.Wrong("$.name", "name: %v", err)
	case h.Name != folder:
		read.Wrong("$.name", "name: the folder is called %.80q, and a skill has the name of its folder", folder)
	}
	switch n := utf8.RuneCountInString(h.Description); {
	case n == 0:
		read.Wrong("$.description", "description is missing: by it a model knows when to read the skill")
	case n > events.MaxSkillDescriptionChars:
		read.Wrong("$.description", "description: %d characters, at most %d are allowed", n, events.MaxSkillDescriptionChars)
	case events.RepairText(h.Description) != h.Description:
		read.Wrong("$.description", "description: has characters that are not text")
	}
}

// cutHead parts the head from the body.
func cutHead(rest string) (yaml, body string, closed bool) {
	at := 0
	for line := range strings.Lines(rest) {
		if strings.TrimRight(line, " \t\n") == border {
			return rest[:at], rest[at+len(line):], true
		}
		at += len(line)
	}
	return "", "", false
}

// badByte is the place of the first byte that is no text, -1 if there is none.
func badByte(source []byte) int {
	for i := 0; i < len(source); {
		r, size := utf8.DecodeRune(source[i:])
		if source[i] == 0 || r == utf8.RuneError && size <= 1 {
			return i
		}
		i += size
	}
	return -1
}
