package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// noTest stands in the row of a rule that no test names.
const noTest = "none yet"

// fill writes the tests of each rule into its row, and leaves everything else as
// it is. A rule that tests name and no row has is an error.
func fill(written string, found map[string][]string) (string, error) {
	rest := maps.Clone(found)
	var out strings.Builder
	for line := range strings.Lines(written) {
		rule, said, ok := row(line)
		if !ok {
			out.WriteString(line)
			continue
		}
		names := noTest
		if tests := found[rule]; len(tests) > 0 {
			names = "`" + strings.Join(tests, "` `") + "`"
		}
		fmt.Fprintf(&out, "| %s | %s | %s |\n", rule, said, names)
		delete(rest, rule)
	}
	if len(rest) > 0 {
		return "", fmt.Errorf("%s has no row for %v, named by %v", page, slices.Sorted(maps.Keys(rest)), slices.Collect(maps.Values(rest)))
	}
	return out.String(), nil
}

// row takes a line of the table apart: the rule's number and what it says.
func row(line string) (rule, said string, ok bool) {
	cells := strings.Split(strings.TrimSpace(line), "|")
	if len(cells) != 5 {
		return "", "", false
	}
	rule = strings.TrimSpace(cells[1])
	if label.FindString(rule) != rule || rule == "" {
		return "", "", false
	}
	return rule, strings.TrimSpace(cells[2]), true
}
