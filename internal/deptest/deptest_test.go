package deptest

import (
	"slices"
	"strings"
	"testing"
)

func TestMatches(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		path, pattern string
		want          bool
	}{
		{"bytes", "bytes", true},
		{"bytes/x", "bytes", false},
		{Module + "/model", Module + "/model/...", true},
		{Module + "/model/script", Module + "/model/...", true},
		{Module + "/models", Module + "/model/...", false},
	} {
		if got := matches(tt.path, tt.pattern); got != tt.want {
			t.Errorf("matches(%q, %q) = %v", tt.path, tt.pattern, got)
		}
	}
}

func TestClockUses(t *testing.T) {
	t.Parallel()
	const clean = "package p\nimport \"time\"\nvar wait = time.Second\nfunc f(now time.Time) { _ = now.After(now) }\n"
	const dirty = "package p\nimport clock \"time\"\nfunc f() { go f(); clock.Sleep(1); _ = clock.Now() }\n"
	if found, err := clockUses("clean.go", []byte(clean)); err != nil || len(found) != 0 {
		t.Errorf("clean file: %v, %v", found, err)
	}
	found, err := clockUses("dirty.go", []byte(dirty))
	if err != nil || len(found) != 3 {
		t.Errorf("dirty file: %v, %v; want three findings", found, err)
	}
}

// recorder keeps the failures a guard reports.
type recorder struct {
	testing.TB
	failures []string
}

func (r *recorder) Helper() {}

func (r *recorder) Errorf(format string, args ...any) {
	r.failures = append(r.failures, format)
	_ = args
}

func TestGuards(t *testing.T) {
	t.Parallel()
	own := []string{
		"errors", "fmt", "go/...", "os/...", "path/filepath", "slices", "strconv", "strings", "testing",
	}
	for _, tt := range []struct {
		name  string
		guard func(testing.TB, ...string)
		args  []string
		fails bool
	}{
		{"what is allowed passes", Only, own, false},
		{"what is not allowed fails", Only, own[1:], true},
		{"packages of others may be ignored", OnlyOurs, nil, false},
		{"a dependency of a dependency is found", Never, []string{"syscall"}, true},
		{"what is linked nowhere is fine", Never, []string{"net/http/..."}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r := &recorder{TB: t}
			tt.guard(r, tt.args...)
			if failed := len(r.failures) > 0; failed != tt.fails {
				t.Errorf("failed = %v: %v", failed, r.failures)
			}
		})
	}
}

func TestPureIsSortedByGroup(t *testing.T) {
	t.Parallel()
	ours := slices.IndexFunc(Pure, func(p string) bool { return strings.Contains(p, ".") })
	if !slices.IsSorted(Pure[:ours]) || !slices.IsSorted(Pure[ours:]) {
		t.Error("keep the list sorted: the standard library first, then libraries")
	}
}
