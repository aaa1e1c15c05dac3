// Command rules fills the last column of docs/RULES.md: the tests of each rule.
//
// A test belongs to a rule if it names it: in its own name (TestS7_3_FirstWins),
// in the comment above it, or in a text inside it, such as the name of a subtest
// ("S7.3 the first decision wins"). The words of the page are written by hand; a
// test fails when a column lags behind.
//
//	go run ./internal/rules
package main

import (
	"fmt"
	"os"
	"path/filepath"
)

// page is the file with the rules, from the module's root.
const page = "docs/RULES.md"

func main() {
	if err := run("."); err != nil {
		fmt.Fprintln(os.Stderr, "rules:", err)
		os.Exit(1)
	}
}

func run(root string) error {
	written, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		return err
	}
	found, err := testsOf(root)
	if err != nil {
		return err
	}
	filled, err := fill(string(written), found)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, page), []byte(filled), 0o644)
}
