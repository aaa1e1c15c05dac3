package chat

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// Schema judges the arguments of one tool. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
}

// schemaName is the address under which a tool's schema refers to itself.
const schemaName = "arguments.json"

// CompileSchema reads a JSON Schema, draft 4 to 2020-12. References to anything
// outside of it are refused: nothing is loaded from anywhere.
func CompileSchema(raw json.RawMessage) (*Schema, error) {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(raw))
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(sealed{})
	if err := c.AddResource(schemaName, doc); err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	compiled, err := c.Compile(schemaName)
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
	err = s.compiled.Validate(doc)
	if err == nil {
		return ""
	}
	invalid, ok := errors.AsType[*jsonschema.ValidationError](err)
	if !ok {
		return "The arguments cannot be checked: " + err.Error()
	}
	_, reasons, _ := strings.Cut(invalid.Error(), "\n") // the first line names our own address
	return "The arguments do not fit the tool's schema:\n" + reasons
}
