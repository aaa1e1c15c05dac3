package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"path"
	"reflect"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/google/jsonschema-go/jsonschema"
)

// draft is the dialect of all schemas.
const draft = "https://json-schema.org/draft/2020-12/schema"

// written says how types look in JSON that do not look like their Go kind.
func written() map[reflect.Type]*jsonschema.Schema {
	return map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[events.StepID](): {Type: "string", Pattern: `^[0-9]+\.[0-9]+$`},
		reflect.TypeFor[events.CallID](): {Type: "string", Pattern: `^[0-9]+\.[0-9]+\.[0-9]+$`},
		reflect.TypeFor[events.Digest](): {Type: "string", Pattern: `^(sha256:[0-9a-f]{64})?$`},
		reflect.TypeFor[events.Time](): {
			Type: "string", Format: "date-time", Pattern: `^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}\.[0-9]{3}Z$`,
		},
		reflect.TypeFor[json.RawMessage](): {Type: "object"},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}
}

// schema is the JSON Schema of a body.
func (src *source) schema(b body) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(b.Type, &jsonschema.ForOptions{TypeSchemas: written()})
	if err != nil {
		return nil, err
	}
	src.describe(s, b.Type, b.Strict, strings.TrimPrefix(short(b.Name), "command."))
	if b.Strict {
		s.Required = b.Required
	}
	if v := s.Properties["v"]; v != nil {
		v.Const = new(any(1))
	}
	s.Schema, s.ID, s.Title = draft, b.Name+".json", b.Name
	return s, nil
}

// describe puts the comments of t and of all types inside it into s.
func (src *source) describe(s *jsonschema.Schema, t reflect.Type, strict bool, wire string) {
	t = element(t)
	if written()[t] != nil {
		return
	}
	switch t.Kind() {
	case reflect.Slice:
		src.describe(s.Items, t.Elem(), strict, "")
	case reflect.Struct:
		s.Description = oneLine(prose(src.types[nameOf(t)], t, wire))
		if !strict {
			s.AdditionalProperties = nil
		}
		for field := range t.Fields() {
			property := s.Properties[jsonName(field)]
			if property == nil {
				continue
			}
			if strict || optional(field) {
				withoutNull(property)
			}
			if strict {
				property.Enum = src.enum(field.Type)
			}
			src.describe(property, field.Type, strict, "")
			if text := src.fieldText(t, field); text != "" {
				property.Description = text
			}
		}
	default:
	}
}

// fieldText is what a reader needs to know of a field: its comment and the
// values it may have.
func (src *source) fieldText(t reflect.Type, field reflect.StructField) string {
	var parts []string
	if text := src.fields[nameOf(t)+"."+field.Name]; text != "" {
		parts = append(parts, sentence(oneLine(prose(text, t, ""))))
	} else if text := ordinary[jsonName(field)]; text != "" {
		parts = append(parts, text)
	}
	if text := src.valuesText(field.Type); text != "" {
		parts = append(parts, text)
	}
	return strings.Join(parts, " ")
}

// maxValuesInText bounds a list inside a sentence; longer ones have a table.
const maxValuesInText = 5

func (src *source) valuesText(t reflect.Type) string {
	values := src.values[nameOf(element(t))]
	if len(values) == 0 || len(values) > maxValuesInText {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = "`" + v.Text + "`"
	}
	if len(words) == 1 {
		return "Only " + words[0] + " so far."
	}
	return "One of " + strings.Join(words, ", ") + "."
}

// enum is what a strict body may say in a field of type t. Elsewhere a newer
// release may know more words, so a schema does not forbid them.
func (src *source) enum(t reflect.Type) []any {
	var words []any
	for _, v := range src.values[nameOf(element(t))] {
		words = append(words, v.Text)
	}
	return words
}

// element is the type behind any pointers.
func element(t reflect.Type) reflect.Type {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	return t
}

// withoutNull takes null from the types of a field that is left out when empty.
func withoutNull(s *jsonschema.Schema) {
	s.Types = slices.DeleteFunc(slices.Clone(s.Types), func(t string) bool { return t == "null" })
	if len(s.Types) == 1 {
		s.Type, s.Types = s.Types[0], nil
	}
}

// commitSchema is the schema of a message in the log.
func (src *source) commitSchema() (*jsonschema.Schema, error) {
	cause, err := jsonschema.ForType(reflect.TypeFor[events.Cause](), nil)
	if err != nil {
		return nil, err
	}
	src.describe(cause, reflect.TypeFor[events.Cause](), false, "")
	text := func(description string) *jsonschema.Schema {
		return &jsonschema.Schema{Type: "string", Description: description}
	}
	one, minimum := 1.0, 1
	event := &jsonschema.Schema{
		Type: "object", Required: []string{"type", "data"},
		Properties: map[string]*jsonschema.Schema{
			"type": text("Wire name with its version."),
			"data": {Type: "object", Description: "The event itself; its schema is the file named after the type."},
		},
		PropertyOrder: []string{"type", "data"},
	}
	for _, name := range events.TypeNames() {
		event.AllOf = append(event.AllOf, &jsonschema.Schema{
			If:   &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"type": {Const: new(any(string(name)))}}},
			Then: &jsonschema.Schema{Properties: map[string]*jsonschema.Schema{"data": {Ref: string(name) + ".json"}}},
		})
	}
	commit := reflect.TypeFor[events.Commit]()
	return &jsonschema.Schema{
		Schema: draft, ID: "commit.v1.json", Title: "commit.v1", Type: "object",
		Description: oneLine(prose(src.types[nameOf(commit)], commit, "")),
		Properties: map[string]*jsonschema.Schema{
			"v":      {Type: "integer", Const: new(any(events.CommitVersion)), Description: "Version of the commit's own form."},
			"id":     text("ULID of the commit; it belongs to its bytes."),
			"tenant": {Type: "string", Pattern: "^[a-z0-9_-]{1,64}$"},
			"chat":   {Type: "string", Pattern: "^[A-Za-z0-9_-]{1,64}$"},
			"rev":    {Type: "integer", Minimum: &one, Description: "Counts the chat's commits from 1 without gaps."},
			"prev":   {Type: "string", Pattern: "^([0-9a-f]{64})?$", Description: "SHA-256 of the bytes of the commit before; empty in the first."},
			"at":     written()[reflect.TypeFor[events.Time]()],
			"cause":  cause,
			"events": {Type: "array", MinItems: &minimum, Items: event},
		},
		Required:      []string{"v", "id", "tenant", "chat", "rev", "prev", "at", "cause", "events"},
		PropertyOrder: []string{"v", "id", "tenant", "chat", "rev", "prev", "at", "cause", "events"},
	}, nil
}

// indent is the file of a schema.
func indent(s *jsonschema.Schema) ([]byte, error) {
	compact, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	if err := json.Indent(&b, compact, "", "  "); err != nil {
		return nil, err
	}
	b.WriteByte('\n')
	return unescape(b.Bytes()), nil
}

// unescape undoes the HTML escapes of encoding/json: people read these files.
func unescape(b []byte) []byte {
	for _, pair := range [][2]string{{`\u003c`, "<"}, {`\u003e`, ">"}, {`\u0026`, "&"}} {
		b = bytes.ReplaceAll(b, []byte(pair[0]), []byte(pair[1]))
	}
	return b
}

// typeText is how a page calls the type of a field.
func typeText(t reflect.Type) string {
	t = element(t)
	switch t {
	case reflect.TypeFor[events.StepID]():
		return "step id"
	case reflect.TypeFor[events.CallID]():
		return "call id"
	case reflect.TypeFor[events.Digest]():
		return "digest"
	case reflect.TypeFor[events.Time]():
		return "time"
	case reflect.TypeFor[json.RawMessage]():
		return "object"
	case reflect.TypeFor[[]byte]():
		return "base64"
	}
	switch t.Kind() {
	case reflect.String:
		return "text"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice:
		return "list of " + typeText(t.Elem())
	case reflect.Struct:
		if t.Name() == "" {
			return "object"
		}
		return fmt.Sprintf("[%s](%s)", t.Name(), anchor(t))
	default:
		return "number"
	}
}

// anchor is where the page about events describes a shared object.
func anchor(t reflect.Type) string {
	page := ""
	if path.Base(t.PkgPath()) == "events" {
		page = "EVENTS.md"
	}
	return page + "#" + strings.ToLower(t.Name())
}
