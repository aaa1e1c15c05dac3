package doctest

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// root is the module's root, seen from this package.
const root = "../.."

// pages are all Markdown files of the module by their path from the root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case entry.IsDir() && path != root && (strings.HasPrefix(entry.Name(), ".") || entry.Name() == "bin" || entry.Name() == "testdata" || entry.Name() == "node_modules"):
			return fs.SkipDir
		case filepath.Ext(path) != ".md":
			return nil
		}
		content, err := os.ReadFile(path)
		name, _ := filepath.Rel(root, path)
		found[name] = string(content)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(found) < 5 {
		t.Fatalf("only %d pages", len(found))
	}
	return found
}

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#+ (.*)$`)
	target  = regexp.MustCompile(`(?m)^([a-z0-9]+):`)
	mention = regexp.MustCompile("(?:`|^)make ([a-z0-9]+)")
	fenced  = regexp.MustCompile("(?s)```.*?```")
)

func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	all := pages(t)
	for name, content := range all {
		for _, match := range link.FindAllStringSubmatch(fenced.ReplaceAllString(content, ""), -1) {
			path, anchor, _ := strings.Cut(match[1], "#")
			if strings.Contains(path, "://") {
				continue
			}
			file := name
			if path != "" {
				file = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(filepath.Join(root, file)); err != nil {
				t.Errorf("%s links to %s, which does not exist", name, match[1])
				continue
			}
			if anchor != "" && !slices.Contains(anchors(all[file]), anchor) {
				t.Errorf("%s links to %s, and there is no such heading", name, match[1])
			}
		}
	}
}

// anchors are the names that headings of a page can be linked by.
func anchors(content string) []string {
	var names []string
	for _, match := range heading.FindAllStringSubmatch(fenced.ReplaceAllString(content, ""), -1) {
		names = append(names, strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, match[1]))
	}
	return names
}

// targets are those of the Makefile.
func targets(t *testing.T) []string {
	t.Helper()
	makefile, err := os.ReadFile(filepath.Join(root, "Makefile"))
	if err != nil {
		t.Fatal(err)
	}
	var all []string
	for _, match := range target.FindAllStringSubmatch(string(makefile), -1) {
		all = append(all, match[1])
	}
	return all
}

// listed is a target in the first cell of a table's row.
var listed = regexp.MustCompile("(?m)^\\| `make ([a-z0-9]+)` \\|")

func TestTargetsOfMakeAreThoseThatAreListed(t *testing.T) {
	t.Parallel()
	var rows []string
	for _, match := range listed.FindAllStringSubmatch(pages(t)["CONTRIBUTING.md"], -1) {
		rows = append(rows, match[1])
	}
	there := targets(t)
	slices.Sort(rows)
	slices.Sort(there)
	if !slices.Equal(rows, there) {
		t.Errorf("CONTRIBUTING.md lists\n%v, and the Makefile has\n%v", rows, there)
	}
}

func TestTargetsOfMakeExist(t *testing.T) {
	t.Parallel()
	targets := targets(t)
	for name, content := range pages(t) {
		for line := range strings.Lines(content) {
			for _, match := range mention.FindAllStringSubmatch(line, -1) {
				if !slices.Contains(targets, match[1]) {
					t.Errorf("%s says make %s, which does not exist", name, match[1])
				}
			}
		}
	}
}

func TestEveryDecisionIsListed(t *testing.T) {
	t.Parallel()
	all := pages(t)
	index := all[filepath.Join("docs", "adr", "README.md")]
	for name := range all {
		if base := filepath.Base(name); strings.HasPrefix(name, filepath.Join("docs", "adr")) && base != "README.md" && !strings.Contains(index, "("+base+")") {
			t.Errorf("%s is not in the list of decisions", name)
		}
	}
}

// Everything a page calls a file or folder of the repository in its own words is there.
var inRepository = regexp.MustCompile("`((?:chat|client|cmd|docs|events|internal|model|orchestrator|projections|protocol|streams|toolrunner)/[a-zA-Z0-9_./-]*)`")

func TestFilesNamedOnPagesExist(t *testing.T) {
	t.Parallel()
	for name, content := range pages(t) {
		for _, match := range inRepository.FindAllStringSubmatch(content, -1) {
			if _, err := os.Stat(filepath.Join(root, match[1])); err != nil {
				t.Errorf("%s speaks of %s, which does not exist", name, match[1])
			}
		}
	}
}
