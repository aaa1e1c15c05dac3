package chat

import (
	"strings"

	"github.com/everturn/everturn/events"
)

// skillMark stands before the name of a skill in what a person says.
const skillMark = "$"

// namedSkills are those of the offered whose names stand behind a $ in inputs, each once,
// in order. $5 and $HOME look like names, too, and a text can be full of them: of what
// is not offered nothing is kept.
func namedSkills(list []input, offered []events.Skill) []events.Skill {
	var named []events.Skill
	for _, in := range list {
		for _, p := range in.Parts {
			if p.Type != events.PartText { // a text of many pages is by digest, and none is looked for in it
				continue
			}
			for name := range skillsIn(p.Text) {
				skill, ok := findSkill(offered, name)
				if _, again := findSkill(named, name); !ok || again {
					continue
				}
				if named = append(named, skill); len(named) == len(offered) {
					return named
				}
			}
		}
	}
	return named
}

// skillsIn yields what stands behind each $ of a text that begins a word, outside of
// code: there it is a variable. Code is between runs of as many backticks, on one line
// or on several.
func skillsIn(text string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		ends := lastRuns(text)
		for i := 0; i < len(text); {
			switch c := text[i]; {
			case c == '`':
				i = behindCode(text, i, ends)
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

// lastRuns is where the last run of so many backticks begins, by how many they are. A
// run that is the last of its length begins no code, and is not looked for an end of:
// a text of many such runs would be read as often as there are.
func lastRuns(text string) map[int]int {
	last := make(map[int]int)
	for i := 0; i < len(text); {
		run := backticks(text[i:])
		if run > 0 {
			last[run] = i
		}
		i += max(run, 1)
	}
	return last
}

// backticks is how many a text begins with.
func backticks(text string) int { return len(text) - len(strings.TrimLeft(text, "`")) }

// behindCode is the place behind the code that begins at i, or behind its backticks
// if they begin none.
func behindCode(text string, i int, last map[int]int) int {
	run := backticks(text[i:])
	if last[run] <= i {
		return i + run
	}
	for at := i + run; at < len(text); {
		n := backticks(text[at:])
		if n == run {
			return at + n
		}
		at += max(n, 1)
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
