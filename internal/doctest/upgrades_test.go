package doctest

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var (
	namedTest  = regexp.MustCompile("`([a-z0-9]+)\\.(Test\\w+)`")
	nameOfTest = regexp.MustCompile(`(?m)^func (Test\w+)\(t \*testing\.T\)`)
)

// What is promised about releases is tried: each row of a table of the page names
// a test, and there is such a test.
func TestPromisesAboutReleasesHaveTests(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	files, err := filepath.Glob(filepath.Join(root, "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	inner, err := filepath.Glob(filepath.Join(root, "internal", "*", "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range append(files, inner...) {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range nameOfTest.FindAllStringSubmatch(string(content), -1) {
			known[filepath.Base(filepath.Dir(file))+"."+name[1]] = true
		}
	}
	rows := 0
	for line := range strings.Lines(pages(t)["docs/UPGRADES.md"]) {
		if !strings.HasPrefix(line, "|") || strings.HasPrefix(line, "|---") || strings.Contains(line, "| kept by |") || strings.Contains(line, "| test |") {
			continue
		}
		rows++
		tests := namedTest.FindAllStringSubmatch(line, -1)
		if len(tests) == 0 {
			t.Errorf("no test is named for %s", line)
		}
		for _, named := range tests {
			if !known[named[1]+"."+named[2]] {
				t.Errorf("there is no test %s.%s", named[1], named[2])
			}
		}
	}
	if rows < 10 {
		t.Errorf("the page has %d rows: does this test still read what people read?", rows)
	}
}
