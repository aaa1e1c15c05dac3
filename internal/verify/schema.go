package verify

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// recentSchemas is how many compiled schemas are kept, over all chats.
const recentSchemas = 256

// schemas are those of the tools' manifests, compiled once.
type schemas struct {
	load     func(events.Digest) (json.RawMessage, error)
	compiled *recent[*jsonschema.Schema] // nil: it could not be had
}

func newSchemas(load func(events.Digest) (json.RawMessage, error)) *schemas {
	return &schemas{load: load, compiled: newRecent[*jsonschema.Schema](recentSchemas)}
}

// of gives the schema of a manifest, nil if it cannot be had.
func (s *schemas) of(manifest events.Digest) *jsonschema.Schema {
	if s.load == nil {
		return nil
	}
	known, ok := s.compiled.get(string(manifest))
	if !ok {
		if raw, err := s.load(manifest); err == nil {
			known = compile(raw)
		}
		s.compiled.put(string(manifest), known)
	}
	return known
}

// compile gives nil for what is no schema.
//
// chat.NumberOutOfRange is the code that is checked here. It only guards the checker
// against what would take it for ever, here and in misfit: to let something pass is
// the worst that a mistake in it can do, and no rule rests on what it says.
func compile(raw json.RawMessage) *jsonschema.Schema {
	const name = "arguments.json"
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
	if err != nil || chat.NumberOutOfRange(document) != "" {
		return nil
	}
	c := jsonschema.NewCompiler()
	c.UseLoader(nothing{})
	if c.AddResource(name, document) != nil {
		return nil
	}
	compiled, err := c.Compile(name)
	if err != nil {
		return nil
	}
	return compiled
}

// nothing is what a schema may refer to outside of itself.
type nothing struct{}

func (nothing) Load(string) (any, error) { return nil, errors.New("a schema refers to itself only") }

// fits judges I9 for a call that is handed out: its arguments fit the schema of
// its manifest, if both can be had.
func (h *history) fits(c *call, manifest events.Digest) {
	schema := h.schemas.of(manifest)
	if schema == nil {
		return
	}
	text := c.object()
	if c.blob != "" {
		if h.options.Blob == nil {
			return
		}
		b, err := h.options.Blob(h.key, c.blob)
		if err != nil {
			return // reported where the answer refers to it
		}
		text = string(b)
	}
	if problem := misfit(schema, text); problem != "" {
		h.breaks(RuleLicence, c.asked, "%s is handed out with arguments that do not fit: %s", describe(c.id, "call"), problem)
	}
}

// misfit is what is wrong with arguments, without any of their content.
func misfit(schema *jsonschema.Schema, text string) string {
	document, err := jsonschema.UnmarshalJSON(strings.NewReader(text))
	if err != nil {
		return "they are no JSON"
	}
	if chat.NumberOutOfRange(document) != "" {
		return "" // older releases took some, and to judge them could take for ever
	}
	err = schema.Validate(document)
	if err == nil {
		return ""
	}
	if invalid, ok := errors.AsType[*jsonschema.ValidationError](err); ok {
		for len(invalid.Causes) > 0 {
			invalid = invalid.Causes[0]
		}
		return fmt.Sprintf("at /%s, %s", strings.Join(invalid.InstanceLocation, "/"), strings.Join(invalid.ErrorKind.KeywordPath(), "/"))
	}
	return "they cannot be judged"
}
