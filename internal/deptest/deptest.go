// Package deptest lets a package state what it may import, and fail its own
// tests when the statement stops being true.
//
// The guard stands inside the guarded package, in a file of its own:
//
//	func TestDependencies(t *testing.T) {
//		deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"))...)
//	}
//
// It must stand there and nowhere else: the go command caches test results by
// the sources of the tested package, so a guard kept elsewhere would go on
// reporting the answer of yesterday.
package deptest

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// Module is the import path of this module.
const Module = "github.com/everturn/everturn"

// Pure lists the packages that compute and do nothing else: no file, no socket,
// no process, no goroutine. Time is among them for its types; see [NoClock].
var Pure = []string{
	"bytes", "cmp", "crypto/sha256", "encoding", "encoding/base64", "encoding/binary", "encoding/hex",
	"encoding/json", "errors", "fmt", "hash/fnv", "iter", "maps", "math", "math/bits", "regexp", "slices",
	"sort", "strconv", "strings", "time", "unicode", "unicode/utf16", "unicode/utf8",
	"github.com/google/uuid", "github.com/oklog/ulid/v2",
}

// Ours spells import paths of this module: Ours("events") is the package
// events, Ours("model/...") is model with everything below it.
func Ours(names ...string) []string {
	paths := make([]string, len(names))
	for i, name := range names {
		paths[i] = Module + "/" + name
	}
	return paths
}

// Only fails t for each direct import of the package under test that is not
// allowed. Test files do not count. A path that ends in "/..." allows the
// package and everything below it.
//
// Direct imports are enough: each package of ours that is imported has a guard
// of its own.
func Only(t testing.TB, allowed ...string) {
	t.Helper()
	for _, path := range list(t, `{{join .Imports "\n"}}`) {
		if !matchesAny(path, allowed) {
			t.Errorf("imports %s, which is not allowed here", path)
		}
	}
}

// OnlyOurs fails t for each direct import of a package of this module that is
// not allowed. Packages of others are not looked at.
func OnlyOurs(t testing.TB, allowed ...string) {
	t.Helper()
	for _, path := range list(t, `{{join .Imports "\n"}}`) {
		if matches(path, Module+"/...") && !matchesAny(path, allowed) {
			t.Errorf("imports %s, which is not allowed here", path)
		}
	}
}

// Never fails t if the package under test depends, over any number of steps, on
// one of the forbidden packages. For a command that is everything linked into it.
func Never(t testing.TB, forbidden ...string) {
	t.Helper()
	for _, path := range list(t, `{{join .Deps "\n"}}`) {
		if matchesAny(path, forbidden) {
			t.Errorf("depends on %s, which must not be linked here", path)
		}
	}
}

// NoClock fails t where the package under test reads a clock, waits, or starts
// a goroutine. Times come into pure code as arguments, so that the same
// arguments give the same answer today and in a replay years from now.
func NoClock(t testing.TB) {
	t.Helper()
	for _, file := range list(t, `{{join .GoFiles "\n"}}`) {
		source, err := os.ReadFile(filepath.Clean(file))
		if err != nil {
			t.Fatal(err)
		}
		found, err := clockUses(file, source)
		if err != nil {
			t.Fatal(err)
		}
		for _, use := range found {
			t.Error(use)
		}
	}
}

// clockNames are the names of package time that look at the clock or wait for it.
var clockNames = []string{
	"After", "AfterFunc", "NewTicker", "NewTimer", "Now", "Since", "Sleep", "Tick", "Until",
}

func clockUses(name string, source []byte) ([]string, error) {
	files := token.NewFileSet()
	file, err := parser.ParseFile(files, name, source, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	var found []string
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && x.Name == timeName(file) && slices.Contains(clockNames, n.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: uses time.%s", files.Position(n.Pos()), n.Sel.Name))
			}
		case *ast.GoStmt:
			found = append(found, fmt.Sprintf("%s: starts a goroutine", files.Position(n.Pos())))
		}
		return true
	})
	return found, nil
}

// timeName is what the file calls package time; empty if it does not import it.
func timeName(file *ast.File) string {
	for _, spec := range file.Imports {
		if path, err := strconv.Unquote(spec.Path.Value); err != nil || path != "time" {
			continue
		}
		if spec.Name != nil {
			return spec.Name.Name
		}
		return "time"
	}
	return ""
}

// list asks the go command about the package in the working directory, which
// for a test is the package under test.
func list(t testing.TB, format string) []string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-f", format, ".").Output()
	if err != nil {
		if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
			t.Fatalf("go list: %v\n%s", err, exit.Stderr)
		}
		t.Fatalf("go list: %v", err)
	}
	return strings.Fields(string(out))
}

func matchesAny(path string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool { return matches(path, pattern) })
}

func matches(path, pattern string) bool {
	if tree, ok := strings.CutSuffix(pattern, "/..."); ok {
		return path == tree || strings.HasPrefix(path, tree+"/")
	}
	return path == pattern
}
