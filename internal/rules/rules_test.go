package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const root = "../.."

func TestThePageIsTrue(t *testing.T) {
	t.Parallel()
	written, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	found, err := testsOf(root)
	if err != nil {
		t.Fatal(err)
	}
	filled, err := fill(string(written), found)
	if err != nil {
		t.Fatal(err)
	}
	if filled != string(written) {
		t.Errorf("%s lags behind the tests: run make generate", page)
	}
}

func TestRowsAreFilled(t *testing.T) {
	t.Parallel()
	const head = "| rule | says | tests |\n|---|---|---|\n"
	got, err := fill(head+"| S1.2 | one | old |\n| S8 | two | `chat.TestGone` |\n", map[string][]string{"S1.2": {"chat.TestA", "system.TestB"}})
	if want := head + "| S1.2 | one | `chat.TestA` `system.TestB` |\n| S8 | two | none yet |\n"; err != nil || got != want {
		t.Errorf("got\n%s%v, want\n%s", got, err, want)
	}
	if _, err := fill(head, map[string][]string{"S9.9": {"chat.TestA"}}); err == nil || !strings.Contains(err.Error(), "S9.9") {
		t.Errorf("a rule without a row: %v", err)
	}
}
