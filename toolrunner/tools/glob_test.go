package tools_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/toolrunner/tools"
)

func TestPatternsOfPaths(t *testing.T) {
	t.Parallel()
	w, root := workspace(t)
	for _, path := range []string{"a.go", "a/b.go", "a/b/c.go", "a/b/c.ts", "a/b/x[1].go", "a/-", "a/{}"} {
		write(t, filepath.Join(root, "tree", path), "package needle")
	}
	for pattern, want := range map[string]string{
		"*.go":            "a/b/c.go a/b/x[1].go a/b.go a.go",
		"b*":              "a/b/ a/b.go",
		"*/b.go":          "a/b.go",
		"**/*.go":         "a/b/c.go a/b/x[1].go a/b.go a.go",
		"a/**":            "a/- a/b/ a/b/c.go a/b/c.ts a/b/x[1].go a/b.go a/{}",
		"a/**/c.{go,ts}":  "a/b/c.go a/b/c.ts",
		"a/?.go":          "a/b.go",
		"[!b].go":         "a/b/c.go a.go",
		"[a-b].go":        "a/b.go a.go",
		`x\[1\].go`:       "a/b/x[1].go",
		`\{\}`:            "a/{}",
		"[a.go":           "",
		"{a":              "",
		"[z-a]":           "",
		"A.GO":            "",
		".*":              "",
		"*****/*****/c.*": "a/b/c.go a/b/c.ts",
	} {
		text := must(run(t.Context(), tools.ListDirectory(w), `{"path":"tree","pattern":"`+strings.ReplaceAll(pattern, `\`, `\\`)+`"}`))
		var got []string
		for line := range strings.Lines(text) {
			if name, _, _ := strings.Cut(strings.TrimSpace(line), " ("); strings.HasPrefix(name, "a") {
				got = append(got, name)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("%s lists %q, want %q", pattern, text, want)
		}
	}
	if text := must(run(t.Context(), tools.SearchFiles(w), `{"pattern":"needle","path":"tree","name":"a/**/*.ts"}`)); text != "tree/a/b/c.ts:1: package needle\n" {
		t.Errorf("a search gives %q", text)
	}
	if text := must(run(t.Context(), tools.SearchFiles(w), `{"pattern":"needle","path":"tree","max_matches":1}`)); !strings.Contains(text, "[stopped after 1 matches: make the search narrower]") {
		t.Errorf("a search for one gives %q", text)
	}
}
