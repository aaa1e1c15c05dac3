package chat

import (
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
)

// skillMark stands before the name of a skill in what a person says.
const skillMark = "$"

// namedSkills are the names behind a $ in inputs, each once, in order. Whether there
// is such a skill is another question: $5 and $HOME look the same.
func namedSkills(list []input) []string {
	var names []string
	for _, in := range list {
		for _, p := range in.Parts {
			if p.Type != events.PartText { // a text of many pages is by digest, and none is looked for in it
				continue
			}
			for name := range skillsIn(p.Text) {
				if !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// skillsIn yields what stands behind each $ of a text that begins a word, outside of
// code: there it is a variable. Code is between runs of as many backticks, on one line
// or on several.
func skillsIn(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for i := 0; i < len(text); {
			switch c := text[i]; {
			case c == '`':
				i = behindCode(text, i)
			case c == skillMark[0] && (i == 0 || !isWord(text[i-1])):
				end := i + 1
				for end < len(text) && isWord(text[end]) {
					end++
				}
				name := strings.TrimRight(text[i+1:end], "-")
				if events.ValidateSkill(name) == nil && !yield(name) {
					return
				}
				i = end
			default:
				i++
			}
		}
	}
}

// behindCode is the place behind the code that begins at i, or behind its backticks
// if they begin none.
func behindCode(text string, i int) int {
	run := 0
	for i+run < len(text) && text[i+run] == '`' {
		run++
	}
	for at := i + run; at < len(text); {
		if text[at] != '`' {
			at++
			continue
		}
		n := 0
		for at+n < len(text) && text[at+n] == '`' {
			n++
		}
		if at += n; n == run {
			return at
		}
	}
	return i + run
}

// isWord reports whether a byte is one of a word, so that no name begins or ends beside
// it. A backslash is one, to write $ and a name that is meant as such. Letters that are
// not ASCII are none: not everybody writes spaces.
func isWord(c byte) bool {
	return c == '_' || c == '-' || c == skillMark[0] || c == '\\' ||
		c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
}
