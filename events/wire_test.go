package events_test

import (
	"bytes"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/wiretest"
	"github.com/google/go-cmp/cmp"
)

func TestWire(t *testing.T) {
	t.Parallel()
	all := examples()
	for _, name := range events.TypeNames() {
		ex, ok := all[name]
		if !ok {
			t.Errorf("%s has no example", name)
			continue
		}
		sizes := map[string]events.Event{"full": ex.full, "minimal": ex.minimal}
		if e, ok := grown()[name]; ok {
			sizes["grown"] = e
		}
		if e, ok := grownAgain()[name]; ok {
			sizes["agent"] = e
		}
		if e, ok := titled()[name]; ok {
			sizes["titled"] = e
		}
		if e, ok := grownCosts()[name]; ok {
			sizes["costs"] = e
		}
		if e, ok := kept()[name]; ok {
			sizes["kept"] = e
		}
		if e, ok := skilled()[name]; ok {
			sizes["skilled"] = e
		}
		for size, want := range sizes {
			t.Run(string(name)+"/"+size, func(t *testing.T) {
				t.Parallel()
				encoded, err := events.EncodeEvent(want)
				if err != nil {
					t.Fatal(err)
				}
				file := wiretest.Frozen(t, string(name)+"."+size+".json", encoded)

				got, err := events.DecodeEvent(name, file)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("old bytes mean something else (-want +got):\n%s", diff)
				}
				if got.EventType() != name {
					t.Errorf("EventType = %s, want %s", got.EventType(), name)
				}
				again, err := events.EncodeEvent(got)
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(string(file), string(again)); diff != "" {
					t.Errorf("bytes have changed (-frozen +encoded):\n%s", diff)
				}
			})
		}
	}
	if len(all) != len(events.TypeNames()) {
		t.Errorf("%d examples for %d types", len(all), len(events.TypeNames()))
	}
}

// A full example that leaves a field out would freeze nothing about it.
func TestFullExamplesAreFull(t *testing.T) {
	t.Parallel()
	for name, ex := range examples() {
		full := ex.full
		if e, ok := grown()[name]; ok {
			full = e
		}
		if e, ok := grownAgain()[name]; ok {
			full = e
		}
		if e, ok := titled()[name]; ok {
			full = e
		}
		if e, ok := grownCosts()[name]; ok {
			full = e
		}
		if e, ok := kept()[name]; ok {
			full = e
		}
		if e, ok := skilled()[name]; ok {
			full = e
		}
		for _, field := range unset(reflect.ValueOf(full), string(name)) {
			t.Errorf("%s is not set", field)
		}
	}
}

func unset(v reflect.Value, path string) []string {
	switch {
	case v.Type() == reflect.TypeFor[events.Part]():
		return nil // which fields a part has follows from its type: TestEveryPart
	case v.Type() == reflect.TypeFor[events.StepID]() && !v.IsZero():
		return nil // the turn of a step outside of any is 0
	case v.Kind() == reflect.Pointer && !v.IsNil():
		return unset(v.Elem(), path)
	case v.Kind() == reflect.Slice && v.Len() > 0:
		return unset(v.Index(0), path+"[0]")
	case v.Kind() == reflect.Struct && v.NumField() > 0:
		var missing []string
		for i := range v.NumField() {
			missing = append(missing, unset(v.Field(i), path+"."+v.Type().Field(i).Name)...)
		}
		return missing
	case v.Kind() != reflect.Struct && v.IsZero():
		return []string{path}
	}
	return nil
}

func TestEveryPart(t *testing.T) {
	t.Parallel()
	set := map[string]bool{}
	types := map[events.PartType]bool{}
	for _, part := range everyPart() {
		types[part.Type] = true
		v := reflect.ValueOf(part)
		for i := range v.NumField() {
			set[v.Type().Field(i).Name] = set[v.Type().Field(i).Name] || !v.Field(i).IsZero()
		}
	}
	for name, seen := range set {
		if !seen {
			t.Errorf("no example of a part sets %s", name)
		}
	}
	for _, want := range constants(t, "part.go", "PartType") {
		if !types[events.PartType(want)] {
			t.Errorf("no example of a part of type %s", want)
		}
	}
}

// Types that could be written but not read would be lost on the next load.
func TestEveryEventIsInTheTable(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for name, zero := range events.Types() {
		known[reflect.TypeOf(zero).Name()] = true
		if zero.EventType() != name {
			t.Errorf("the row of %s reads %s", name, zero.EventType())
		}
	}
	for _, file := range parseAll(t) {
		for _, decl := range file.Decls {
			method, ok := decl.(*ast.FuncDecl)
			if !ok || method.Recv == nil || method.Name.Name != "sealed" {
				continue
			}
			if receiver, ok := method.Recv.List[0].Type.(*ast.Ident); ok && !known[receiver.Name] {
				t.Errorf("%s is an event without a row in the table", receiver.Name)
			}
		}
	}
}

func TestTypeNamesAreSortedAndVersioned(t *testing.T) {
	t.Parallel()
	names := events.TypeNames()
	if !slices.IsSorted(names) || len(slices.Compact(slices.Clone(names))) != len(names) {
		t.Errorf("not sorted, or one name twice: %v", names)
	}
	for _, name := range names {
		version := name[strings.LastIndex(string(name), ".")+1:]
		if !slices.Contains([]events.Type{"v1", "v2", "v3"}, version) || strings.ToLower(string(name)) != string(name) {
			t.Errorf("%s: want lower case with a version at the end", name)
		}
	}
}

func TestUnknownFieldsOfEventsAreIgnored(t *testing.T) {
	t.Parallel()
	got, err := events.DecodeEvent("chat.titled.v1", []byte(`{"title":"a","colour":"red","by":"user:ann"}`))
	if err != nil {
		t.Fatal(err)
	}
	if want := (events.ChatTitled{Title: "a", By: "user:ann"}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func fullCommit() events.Commit {
	return events.Commit{
		ID: ulidOfCommit, Key: events.Key{Tenant: "acme", Chat: "01KB6Q3Z8V0000000000000000"}, Rev: 17,
		Prev: events.Hash([]byte("commit 16")), At: noon,
		Cause: events.Cause{Kind: events.CausedByCommand, ID: ulidOfInput, Verb: "send", By: "user:ann", Sequence: 123},
		Events: []events.Event{
			events.StepCompleted{Step: step, Attempt: 1, Parts: []events.Part{events.Text("a < b")}, Stop: events.StopEnd},
			events.TurnCompleted{Turn: 3, Finish: events.FinishComplete, Totals: everyTotal()},
		},
	}
}

func minimalCommit() events.Commit {
	return events.Commit{
		ID: ulidOfCommit, Key: events.Key{Tenant: "default", Chat: "c"}, Rev: 1, At: noon,
		Cause:  events.Cause{Kind: events.CausedByAttempt, ID: "1.1-1"},
		Events: []events.Event{events.ChatArchived{}},
	}
}

func TestCommitWire(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]events.Commit{
		"commit.v1.full.json": fullCommit(), "commit.v1.minimal.json": minimalCommit(),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			encoded, err := events.Encode(want)
			if err != nil {
				t.Fatal(err)
			}
			file := wiretest.Frozen(t, name, encoded)
			got, err := events.Decode(file)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("old bytes mean something else (-want +got):\n%s", diff)
			}
			if !bytes.Equal(file, encoded) {
				t.Errorf("bytes have changed:\n%s\n%s", file, encoded)
			}
		})
	}
}

// The hash chain is the reason why not one byte of a commit may ever change.
func TestHashIsFrozen(t *testing.T) {
	t.Parallel()
	b, err := events.Encode(minimalCommit())
	if err != nil {
		t.Fatal(err)
	}
	const want = "ba9eeab3b1f8ef478f18a8dc538ba454cbebe9ba683d0ac49911dca2157c67a5"
	if got := events.Hash(b); got != want {
		t.Errorf("Hash = %s, want %s", got, want)
	}
}

func TestBadCommits(t *testing.T) {
	t.Parallel()
	newer := func(what, name string) func(error) bool {
		return func(err error) bool {
			version, ok := errors.AsType[*events.VersionError](err)
			return ok && version.What == what && version.Name == name && !errors.Is(err, events.ErrMalformed)
		}
	}
	malformed := func(err error) bool { return errors.Is(err, events.ErrMalformed) }
	seen := map[string]bool{}
	for _, tt := range []struct {
		file string
		want func(error) bool
	}{
		{"commit-of-version-2.json", newer("commit", "2")},
		{"commit-of-version-2-in-another-shape.json", newer("commit", "2")},
		{"event-of-version-2.json", newer("event", "chat.titled.v2")},
		{"event-nobody-knows.json", newer("event", "chat.exploded.v1")},
		{"known-event-beside-a-newer-one.json", newer("event", "turn.paused.v1")},
		{"no-version.json", malformed},
		{"version-0.json", malformed},
		{"no-json.json", malformed},
		{"empty.json", malformed},
		{"cut-off.json", malformed},
		{"two-values.json", malformed},
		{"a-list.json", malformed},
		{"null.json", malformed},
		{"no-events.json", malformed},
		{"events-missing.json", malformed},
		{"event-without-data.json", malformed},
		{"event-with-a-number-for-text.json", malformed},
		{"step-id-of-three-numbers.json", malformed},
		{"time-that-is-none.json", malformed},
		{"negative-rev.json", malformed},
	} {
		seen[tt.file] = true
		t.Run(tt.file, func(t *testing.T) {
			t.Parallel()
			b, err := os.ReadFile(filepath.Join("testdata", "wire", "bad", tt.file))
			if err != nil {
				t.Fatal(err)
			}
			got, err := events.Decode(b)
			if err == nil || !tt.want(err) {
				t.Errorf("error = %v", err)
			}
			if err != nil && len(err.Error()) > 300 {
				t.Errorf("the error repeats too much of what it refuses: %d bytes", len(err.Error()))
			}
			if diff := cmp.Diff(events.Commit{}, got); diff != "" {
				t.Errorf("something came back with the error:\n%s", diff)
			}
		})
	}
	files, err := os.ReadDir(filepath.Join("testdata", "wire", "bad"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		if !seen[file.Name()] {
			t.Errorf("%s is in no row of the table", file.Name())
		}
	}
}

// parseAll parses the package's own sources.
func parseAll(t *testing.T) []*ast.File {
	t.Helper()
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	var files []*ast.File
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// constants are the values of all string constants of a type in one file.
func constants(t *testing.T, name, typ string) []string {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	var values []string
	ast.Inspect(file, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || len(spec.Values) != 1 {
			return true
		}
		literal, isLiteral := spec.Values[0].(*ast.BasicLit)
		if named, ok := spec.Type.(*ast.Ident); ok && named.Name == typ && isLiteral {
			values = append(values, strings.Trim(literal.Value, `"`))
		}
		return true
	})
	if len(values) == 0 {
		t.Fatalf("no constant of type %s in %s", typ, name)
	}
	return values
}
