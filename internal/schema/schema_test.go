package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// root is the module's root, seen from this package.
const root = "../.."

func TestDocumentsAreCurrent(t *testing.T) {
	t.Parallel()
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range files {
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			t.Error(err)
			continue
		}
		if !bytes.Equal(want, got) {
			t.Errorf("%s lags behind; run make generate\n%s", name, cmp.Diff(string(got), string(want)))
		}
	}
	stale, err := leftOver(root, files)
	if err != nil {
		t.Fatal(err)
	}
	if len(stale) > 0 {
		t.Errorf("generated no more: %v; run make generate", stale)
	}
}

func TestRunWritesAndRemoves(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for _, name := range slices.Concat(packages, measured) {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			continue // it came with what it lies below
		}
		if err := os.CopyFS(filepath.Join(dir, name), os.DirFS(filepath.Join(root, name))); err != nil {
			t.Fatal(err)
		}
	}
	stale := filepath.Join(dir, schemaDir, "chat.gone.v1.json")
	if err := os.MkdirAll(filepath.Dir(stale), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(stale, []byte("{}"), 0o644); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := run(dir); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := os.Stat(stale); !os.IsNotExist(err) {
		t.Errorf("the file of a type that is gone is still there: %v", err)
	}
	if _, err := os.Stat(filepath.Join(dir, "docs", "EVENTS.md")); err != nil {
		t.Error(err)
	}
}

func TestRunElsewhereFails(t *testing.T) {
	t.Parallel()
	if err := run(t.TempDir()); err == nil {
		t.Error("no error outside of the module")
	}
}

// compiler knows all generated schemas by their names.
func compiler(t *testing.T) *jsonschema.Compiler {
	t.Helper()
	c := jsonschema.NewCompiler()
	files, err := filepath.Glob(filepath.Join(root, schemaDir, "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatal("no schemas", err)
	}
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		schema, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		if err := c.AddResource(resource(filepath.Base(file)), schema); err != nil {
			t.Fatal(err)
		}
	}
	return c
}

func resource(name string) string { return "https://everturn.test/" + name }

// The schemas are judged by a library that did not make them, on the frozen bytes.
func TestWireFilesMatchTheirSchemas(t *testing.T) {
	t.Parallel()
	c := compiler(t)
	bodies := append(catalog(), body{Name: "commit.v1", Dir: "events"})
	for _, b := range bodies {
		files, err := filepath.Glob(filepath.Join(root, b.Dir, "testdata", "wire", b.Name+".*.json"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s has no wire file: %v", b.Name, err)
		}
		schema, err := c.Compile(resource(b.Name + ".json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			content, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			value, err := jsonschema.UnmarshalJSON(bytes.NewReader(content))
			if err != nil {
				t.Fatal(err)
			}
			if err := schema.Validate(value); err != nil {
				t.Errorf("%s: %v", filepath.Base(file), err)
			}
		}
	}
}

func TestSchemasRefuse(t *testing.T) {
	t.Parallel()
	c := compiler(t)
	for _, tt := range []struct{ name, schema, value string }{
		{"a command without a version", "command.archive", `{}`},
		{"a command of another version", "command.archive", `{"v":2}`},
		{"a command with an unknown field", "command.send", `{"v":1,"parts":[],"urgent":true}`},
		{"an unknown field deep inside", "command.create", `{"v":1,"settings":{"colour":"red"}}`},
		{"a send without parts", "command.send", `{"v":1}`},
		{"a mode nobody knows", "command.send", `{"v":1,"parts":[],"mode":"shout"}`},
		{"an event without its id", "tool.started.v1", `{"claim":"c","delivery":1,"runner":"r","at":"2026-11-29T12:00:00.123Z"}`},
		{"a call id of two numbers", "claim", `{"v":1,"call":"1.2","rev":1,"claim":"c","delivery":1,"runner":"r"}`},
		{"a time without milliseconds", "timer", `{"v":1,"tenant":"t","chat":"c","rev":1,"name":"end-1","due":"2026-11-29T12:00:00Z"}`},
		{
			"a commit with a broken event", "commit.v1",
			`{"v":1,"id":"x","tenant":"t","chat":"c","rev":1,"prev":"","at":"2026-11-29T12:00:00.123Z","cause":{"kind":"command","id":"x"},` +
				`"events":[{"type":"chat.titled.v1","data":{"title":7}}]}`,
		},
	} {
		schema, err := c.Compile(resource(tt.schema + ".json"))
		if err != nil {
			t.Fatal(err)
		}
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			value, err := jsonschema.UnmarshalJSON(strings.NewReader(tt.value))
			if err != nil {
				t.Fatal(err)
			}
			if schema.Validate(value) == nil {
				t.Errorf("accepted: %s", tt.value)
			}
		})
	}
}

// What a schema refuses of a command, the decoder refuses too, as far as it is
// about form.
func TestSchemaAndDecoderKnowTheSameVerbs(t *testing.T) {
	t.Parallel()
	for _, b := range commands() {
		verb := strings.TrimPrefix(b.Name, "command.")
		content, err := wireFile(root, b.Dir, b.Example)
		if err != nil {
			t.Fatal(err)
		}
		got, err := protocol.DecodeCommand(verb, content)
		if err != nil || reflect.TypeOf(got) != b.Type {
			t.Errorf("%s decodes to %T, %v", verb, got, err)
		}
	}
}

// Every field on the pages says something.
func TestEveryFieldIsExplained(t *testing.T) {
	t.Parallel()
	src, err := parse(root)
	if err != nil {
		t.Fatal(err)
	}
	types := map[reflect.Type]bool{}
	for _, b := range catalog() {
		types[b.Type] = true
	}
	for _, pkg := range packages {
		for _, shared := range shared(pkg, catalog()) {
			types[shared] = true
		}
	}
	for typ := range types {
		if src.types[nameOf(typ)] == "" {
			t.Errorf("%s has no comment", nameOf(typ))
		}
		for field := range typ.Fields() {
			if jsonName(field) != "" && src.fieldText(typ, field) == "" {
				t.Errorf("%s.%s is not explained", nameOf(typ), field.Name)
			}
		}
	}
}

func TestProse(t *testing.T) {
	t.Parallel()
	turn := reflect.TypeFor[events.TurnStarted]()
	for in, want := range map[string]string{
		"TurnStarted opens a turn. At most one is open. Parent is its parent.": "`turn.started` opens a turn. At most one is open. `parent` is its parent.",
		"At is the time":             "`at` is the time",
		"see [MaxErrorChars]":        "see 500 characters",
		"see [TurnCompleted] (Turn)": "see `TurnCompleted` (`turn`)",
	} {
		if got := prose(in, turn, "turn.started"); got != want {
			t.Errorf("prose(%q) = %q, want %q", in, got, want)
		}
	}
	manifest := reflect.TypeFor[protocol.Manifest]()
	if got := prose("JSON Schema of the arguments", manifest, ""); strings.Contains(got, "`") {
		t.Errorf("a JSON Schema became %q", got)
	}
}

func TestSchemasAreJSON(t *testing.T) {
	t.Parallel()
	files, err := generate(root)
	if err != nil {
		t.Fatal(err)
	}
	for name, content := range files {
		if strings.HasSuffix(name, ".json") && !json.Valid(content) {
			t.Errorf("%s is no JSON", name)
		}
	}
}
