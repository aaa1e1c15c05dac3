package yamlfile

import (
	"regexp"
	"slices"
	"strings"
)

// colon ends a key, wherever it stands in a line.
var colon = regexp.MustCompile(`:(\s|$)`)

// OnlyValuesOf gives lines as errors may show them where a file may hold a secret: up to
// the first value of a key that is none of these, whether it has a place in the file or
// not. A line without a key may be the rest of such a value.
func OnlyValuesOf(keys ...string) func(line string) string {
	return func(line string) string {
		code, _, _ := strings.Cut(line, "#")
		found := colon.FindAllStringIndex(code, -1)
		if len(found) == 0 {
			return ""
		}
		from := 0
		for _, at := range found {
			if !slices.Contains(keys, keyIn(code[from:at[0]])) {
				return strings.TrimRight(code[:at[1]], " ") + " …"
			}
			from = at[1]
		}
		return strings.TrimRight(code, " ")
	}
}

// keyIn is the key at the end of what stands before its colon.
func keyIn(before string) string {
	before = before[strings.LastIndexAny(before, "{[,")+1:]
	return strings.Trim(strings.TrimPrefix(strings.TrimSpace(before), "- "), ` "'`)
}
