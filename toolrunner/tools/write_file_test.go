package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner/tools"
)

func TestWriteFile(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	if err := os.Chmod(filepath.Join(root, "readme.md"), 0o660); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		path, content, want string
		mode                os.FileMode
	}{
		{"notes.txt", "hello\n", `Wrote 6 bytes to the new file "notes.txt".`, 0},
		{"notes.txt", "", `Wrote 0 bytes to "notes.txt", in place of 6.`, 0},
		{"readme.md", "ü", `Wrote 2 bytes to "readme.md", in place of 35.`, 0o660},
		{"a/b/./c.txt", "deep", `Wrote 4 bytes to the new file "a/b/./c.txt".`, 0},
		{"src/../top.txt", "up", `Wrote 2 bytes to the new file "src/../top.txt".`, 0},
	} {
		arguments := encoded(t, tt.path, tt.content)
		if err := accepts(tools.WriteFile(w).Manifest().Schema, arguments); err != nil {
			t.Errorf("%s: %v", arguments, err)
		}
		if text, err := run(t.Context(), tools.WriteFile(w), arguments); err != nil || text != tt.want {
			t.Errorf("%s: got %q, %v", arguments, text, err)
		}
		file := filepath.Join(root, tt.path)
		if got, err := os.ReadFile(file); err != nil || string(got) != tt.content {
			t.Errorf("%s has %q, %v", tt.path, got, err)
		}
		if info, err := os.Stat(file); err != nil || tt.mode != 0 && info.Mode().Perm() != tt.mode {
			t.Errorf("%s has mode %v, %v", tt.path, info.Mode(), err)
		}
	}
	nothingIsLeftOver(t, root)
}

func TestWhatIsNotWritten(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	outside := filepath.Join(filepath.Dir(root), "outside")
	link(t, ".git", filepath.Join(root, "link-git"))
	link(t, "src", filepath.Join(root, "link-folder"))
	for _, path := range []string{
		"../outside/secret.txt", "../outside/new.txt", "src/../../outside/new.txt", filepath.Join(outside, "new.txt"),
		"link-out", "link-abs/secret.txt", "link-abs/new.txt", "link-abs/folder/new.txt", "link-in", "loop", "loop/x",
		"link-folder/main.go", "link-git/hooks/pre-commit",
		"src", "src/", "new/", ".", "..", "/", "pipe", "a\x00b", "readme.md/x", ".git/hooks/pre-commit", "src/.GIT/config", "",
		".g\u200cit/config", ".git\ufeff/config", ".gi\u00adt/config", ".git\ufe0f/config", ".git./config", ".git /config", ".git. ./config", "GIT~1/config",
		".git::$INDEX_ALLOCATION/config",
	} {
		text, err := run(t.Context(), tools.WriteFile(w), encoded(t, path, "taken over"))
		if err == nil {
			t.Errorf("%q: %q", path, text)
			continue
		}
		if !strings.HasPrefix(path, "/") && strings.Contains(err.Error(), filepath.Dir(root)) {
			t.Errorf("the error names a path of the machine: %v", err)
		}
	}
	entries, err := os.ReadDir(outside)
	if err != nil || len(entries) != 1 {
		t.Errorf("outside of the workspace is %v, %v", entries, err)
	}
	if got, err := os.ReadFile(filepath.Join(outside, "secret.txt")); err != nil || string(got) != "s3cret" {
		t.Errorf("what is outside says %q, %v", got, err)
	}
	for _, arguments := range []string{`{"path":"x"}`, `{"content":"x"}`, encoded(t, "x", strings.Repeat("x", events.MaxArgumentsBytes+1))} {
		if text, err := run(t.Context(), tools.WriteFile(w), arguments); err == nil {
			t.Errorf("%.40s: %q", arguments, text)
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if text, err := run(stopped, tools.WriteFile(w), encoded(t, "readme.md", "too late")); !errors.Is(err, context.Canceled) {
		t.Errorf("when it is not wanted any more: %q, %v", text, err)
	}
	if got, err := os.ReadFile(filepath.Join(root, "readme.md")); err != nil || !strings.HasPrefix(string(got), "# Title") {
		t.Errorf("the file says %q, %v", got, err)
	}
	nothingIsLeftOver(t, root)
}

// Whoever reads while it is written sees one content or the other, whole.
func TestAFileIsReplacedAtOnce(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	file := filepath.Join(root, "notes.txt")
	write(t, file, "")
	ctx, done := context.WithCancel(t.Context())
	go func() {
		defer done()
		for i := range 200 {
			if _, err := run(t.Context(), tools.WriteFile(w), encoded(t, "notes.txt", strings.Repeat(fmt.Sprint(i%10), 50_000))); err != nil {
				t.Error(err)
			}
		}
	}()
	for ctx.Err() == nil {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(content); n != 0 && (n != 50_000 || strings.Trim(string(content), string(content[:1])) != "") {
			t.Fatalf("%d bytes of more than one writing were read", n)
		}
	}
}

func encoded(t *testing.T, path, content string) string {
	t.Helper()
	b, err := json.Marshal(map[string]string{"path": path, "content": content})
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func nothingIsLeftOver(t *testing.T, root string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, _ os.DirEntry, err error) error {
		if strings.HasPrefix(filepath.Base(path), ".everturn-") {
			t.Errorf("%s is left over", path)
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}
