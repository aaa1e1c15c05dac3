package main

import (
	"os"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// The page of the command line names every command, and every exit code.
func TestTheDocumentedCommandsAreThoseThereAre(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/CLI.md")
	if err != nil {
		t.Fatal(err)
	}
	parser, err := kong.New(&grammar{}, kong.Vars{"log_level": "WARN"})
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range parser.Model.Children {
		if !command.Hidden && !strings.Contains(string(page), "\n| `"+command.Name) {
			t.Errorf("%s is not in the page", command.Name)
		}
	}
	for _, code := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "130, 143"} {
		if !strings.Contains(string(page), "\n| "+code+" |") {
			t.Errorf("exit code %s is not in the page", code)
		}
	}
}
