package page

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"testing"
)

// TestVendoredFilesAreThoseThatTheirNoteNames: what others wrote is here unchanged.
func TestVendoredFilesAreThoseThatTheirNoteNames(t *testing.T) {
	t.Parallel()
	note, err := staticFiles.ReadFile("static/htmx.README.txt")
	if err != nil {
		t.Fatal(err)
	}
	named := 0
	for line := range strings.Lines(string(note)) {
		sum, name, found := strings.Cut(strings.TrimSpace(line), "  ")
		if !found || len(sum) != sha256.Size*2 {
			continue
		}
		named++
		content, err := staticFiles.ReadFile("static/" + name)
		if err != nil {
			t.Fatal(err)
		}
		if got := sha256.Sum256(content); hex.EncodeToString(got[:]) != sum {
			t.Errorf("%s has the hash %x, its note says %s", name, got, sum)
		}
	}
	if named != 2 {
		t.Errorf("the note names %d files, want 2", named)
	}
}

// TestOurScriptStaysSmall: what grows beyond this belongs into the server.
func TestOurScriptStaysSmall(t *testing.T) {
	t.Parallel()
	const maxLines = 300
	script, err := staticFiles.ReadFile("static/page.js")
	if err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(string(script), "\n"); n > maxLines {
		t.Errorf("page.js has %d lines, at most %d are wanted", n, maxLines)
	}
}
