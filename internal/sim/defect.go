package sim

import (
	"errors"
	"fmt"
	"strings"
)

// defect is a bug that the product does not have: a few words, and how it would
// stand in the source.
type defect struct {
	what  string
	edits []edit
}

// edit replaces a piece of a source file that stands in it exactly once.
type edit struct {
	file            string // below the module's root
	search, replace string
}

// Marks of a defect's file. Its first line says what the defect is.
const (
	markFile    = "=== "
	markSearch  = "<<<\n"
	markReplace = "\n>>>\n"
)

// parseDefect reads a defect.
func parseDefect(text string) (defect, error) {
	parts := strings.Split(text, "\n"+markFile)
	d := defect{what: parts[0]}
	for _, p := range parts[1:] {
		file, rest, _ := strings.Cut(p, "\n")
		body, found := strings.CutPrefix(rest, markSearch)
		search, replace, both := strings.Cut(body, markReplace)
		if !found || !both {
			return d, fmt.Errorf("edit of %s: want %q, then %q", file, markSearch, markReplace)
		}
		d.edits = append(d.edits, edit{file: file, search: search, replace: strings.TrimSuffix(replace, "\n")})
	}
	if len(d.edits) == 0 {
		return d, errors.New("it edits nothing")
	}
	return d, nil
}

// apply is the source with the defect in it.
func (e edit) apply(source string) (string, error) {
	if n := strings.Count(source, e.search); n != 1 {
		return "", fmt.Errorf("%s: what is to be replaced stands in it %d times, want once:\n%s", e.file, n, e.search)
	}
	return strings.Replace(source, e.search, e.replace, 1), nil
}
