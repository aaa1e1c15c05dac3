package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/everturn/everturn/events"
)

// Schema judges the arguments of one tool. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// schemaName is the address under which a tool's schema refers to itself. It is a
// whole one: a mere file name would be made one of the machine's, and shown.
const schemaName = "schema:///arguments.json"

// CompileSchema reads a JSON Schema, draft 4 to 2020-12. References to anything
// outside of it are refused: nothing is loaded from anywhere.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	if number := NumberOutOfRange(doc); number != "" {
		return nil, fmt.Errorf("schema: the number %s is out of range", events.Shorten(number, maxShownNumberChars))
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaName)
	if wrong, ok := errors.AsType[*jsonschema.SchemaValidationError](err); ok {
		if invalid, ok := errors.AsType[*jsonschema.ValidationError](wrong.Err); ok {
			return nil, fmt.Errorf("schema: it is no JSON Schema:\n%s", reasons(invalid))
		}
	}
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	return &Schema{compiled: compiled}, nil
}

// sealed is a loader that loads nothing.
type sealed struct{}

func (sealed) Load(string) (any, error) {
	return nil, errors.New("a reference may not leave the schema")
}

// emptyArguments stands for arguments a model left out.
const emptyArguments = "{}"

// normalArguments is what counts as the arguments of a call: models write
// nothing, white space or null for none.
func normalArguments(raw string) string {
	switch strings.TrimSpace(raw) {
	case "", "null":
		return emptyArguments
	}
	return raw
}

// check says everything that is wrong with the arguments, in words a model can
// act on; empty if nothing is.
func (s *Schema) check(arguments string) string {
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(arguments))
	if err != nil {
		return "The arguments are not valid JSON: " + err.Error()
	}
	if number := NumberOutOfRange(doc); number != "" {
		return fmt.Sprintf("The number %s is out of range: at most %d characters and an exponent up to %d are allowed.",
			events.Shorten(number, maxShownNumberChars), maxNumberChars, maxExponent)
	}
	err = s.compiled.Validate(doc)
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "The arguments cannot be checked: " + err.Error()
	}
	return "The arguments do not fit the tool's schema:\n" + reasons(invalid)
}

// reasons are what is wrong, a line each. The same for the same: the library looks
// at the members of an object in any order.
func reasons(e *jsonschema.ValidationError) string {
	inOrder(e)
	_, list, _ := strings.Cut(e.Error(), "\n") // the first line names our own address
	return list
}

func inOrder(e *jsonschema.ValidationError) {
	if more, ok := e.ErrorKind.(*kind.AdditionalProperties); ok {
		slices.Sort(more.Properties)
	}
	for _, cause := range e.Causes {
		inOrder(cause)
	}
	slices.SortStableFunc(e.Causes, func(a, b *jsonschema.ValidationError) int {
		if n := slices.Compare(a.InstanceLocation, b.InstanceLocation); n != 0 {
			return n
		}
		return strings.Compare(a.Error(), b.Error())
	})
}

// Bounds of a number in arguments and schemas. Every float64 in its shortest form is
// within them. One that is written out may not be: the smallest has some 750 digits.
const (
	maxNumberChars      = 400
	maxExponent         = 400
	maxShownNumberChars = 40
)

// NumberOutOfRange is a number in decoded JSON that no schema may be asked about,
// or nothing. Numbers are compared as fractions, whose digits grow with the
// exponent: a list of a few thousand large ones would take minutes, and beyond an
// exponent of a million there is no fraction, which the library does not expect.
func NumberOutOfRange(doc any) string {
	switch doc := doc.(type) {
	case json.Number:
		if isOutOfRange(doc.String()) {
			return doc.String()
		}
	case []any:
		for _, item := range doc {
			if number := NumberOutOfRange(item); number != "" {
				return number
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(doc)) {
			if number := NumberOutOfRange(doc[name]); number != "" {
				return number
			}
		}
	}
	return ""
}

func isOutOfRange(number string) bool {
	if len(number) > maxNumberChars {
		return true
	}
	_, exponent, _ := strings.Cut(strings.ToLower(number), "e")
	if exponent == "" {
		return false
	}
	n, err := strconv.Atoi(exponent)
	return err != nil || n > maxExponent || n < -maxExponent
}
