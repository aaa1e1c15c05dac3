package system

import (
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// root is the module's root, seen from this package.
const root = "../.."

// mention is a test as pages name it: `package.TestName`.
var mention = regexp.MustCompile("`([a-z0-9]+)\\.(Test[A-Za-z0-9]+)`")

// rows are the cells of every table row of a page, headings left out.
func rows(t *testing.T, page string) [][]string {
	t.Helper()
	content, err := os.ReadFile(filepath.Join(root, page))
	if err != nil {
		t.Fatal(err)
	}
	var all [][]string
	heading := true
	for line := range strings.Lines(string(content)) {
		line = strings.TrimSpace(line)
		switch {
		case !strings.HasPrefix(line, "|"):
			heading = true
			continue
		case strings.HasPrefix(line, "|---"):
			heading = false
			continue
		case heading:
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		all = append(all, cells)
	}
	return all
}

func TestEveryBadInputOfThePageIsTestedAndTheOtherWayRound(t *testing.T) {
	t.Parallel()
	tested := ownBadInputs()
	for _, in := range badInputs() {
		tested[in.name] = "TestBadInputs"
	}
	written := map[string]bool{}
	for _, row := range rows(t, "docs/BAD_INPUTS.md") {
		name, where := row[0], row[len(row)-1]
		written[name] = true
		test, ok := tested[name]
		switch {
		case !ok:
			t.Errorf("the page has %q, and no test", name)
		case test != "TestBadInputs" && !strings.Contains(where, "`system."+test+"`"):
			t.Errorf("the page does not say that %q is tested in %s", name, test)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(tested)) {
		if !written[name] {
			t.Errorf("%q is tested, and not on the page", name)
		}
	}
}

func TestTestsNamedOnPagesExist(t *testing.T) {
	t.Parallel()
	for _, page := range []string{"docs/BAD_INPUTS.md", "docs/FIELD_FAULTS.md", "docs/RELIABILITY.md"} {
		content, err := os.ReadFile(filepath.Join(root, page))
		if err != nil {
			t.Fatal(err)
		}
		found := mention.FindAllStringSubmatch(string(content), -1)
		if len(found) < 5 {
			t.Errorf("%s names %d tests only", page, len(found))
		}
		for _, m := range found {
			if !exists(t, m[1], m[2]) {
				t.Errorf("%s names %s.%s, which does not exist", page, m[1], m[2])
			}
		}
	}
}

func TestEveryFaultFromTheFieldIsOnThePage(t *testing.T) {
	t.Parallel()
	page := rows(t, "docs/FIELD_FAULTS.md")
	for _, name := range testsIn(t, ".") {
		id := regexp.MustCompile(`^TestB[0-9]{2}`).FindString(name)
		if id == "" {
			continue
		}
		if !slices.ContainsFunc(page, func(row []string) bool {
			return row[0] == strings.TrimPrefix(id, "Test") && strings.Contains(row[len(row)-1], "`system."+name+"`")
		}) {
			t.Errorf("%s is not on the page under its number", name)
		}
	}
}

// exists reports whether a package of that name has the test.
func exists(t *testing.T, name, test string) bool {
	t.Helper()
	for _, above := range []string{"", "internal", "toolrunner", "gateway", "projections", "cmd"} {
		dir := filepath.Join(above, name)
		if _, err := os.Stat(filepath.Join(root, dir)); err == nil && slices.Contains(testsIn(t, filepath.Join(root, dir)), test) {
			return true
		}
	}
	return false
}

var declared = regexp.MustCompile(`(?m)^func (Test[A-Za-z0-9]+)\(`)

// testsIn are the tests declared in a folder.
func testsIn(t *testing.T, dir string) []string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*_test.go"))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range declared.FindAllStringSubmatch(string(content), -1) {
			names = append(names, m[1])
		}
	}
	return names
}
