package mcp

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Limits of what a server says of its tools. What is longer is cut, or not offered.
const (
	maxDescriptionBytes = 16 << 10
	maxTools            = 512 // of a server
	maxNames            = 64 << 10
	maxListPages        = 64
)

// offers says whether a tool is one of those that are offered.
func (s Server) offers(tool string) bool {
	return (len(s.Tools.Allow) == 0 || matches(s.Tools.Allow, tool)) && !matches(s.Tools.Deny, tool)
}

// policy is what the file says of a tool; empty if it says nothing.
func (s Server) policy(tool string) events.Policy {
	policy, longest := s.Policy, -1
	for pattern, p := range s.Policies {
		if len(pattern) > longest && matches([]string{pattern}, tool) {
			policy, longest = events.Policy(p), len(pattern)
		}
	}
	return policy
}

// manifest describes a tool to chats. That it changes nothing, or may run again, is
// said by the file alone, unless that trusts the server: a wrong word there would let
// calls run unasked, or twice.
func (s Server) manifest(name string, t *mcp.Tool) (protocol.Manifest, error) {
	schema := json.RawMessage(`{"type":"object"}`)
	if t.InputSchema != nil {
		var err error
		if schema, err = json.Marshal(t.InputSchema); err != nil {
			return protocol.Manifest{}, fmt.Errorf("tool %.100q: schema: %w", t.Name, err)
		}
	}
	if len(schema) > protocol.MaxSchemaBytes { // else it would be kept until it is refused
		return protocol.Manifest{}, fmt.Errorf("tool %.100q: schema: %d bytes, at most %d are allowed", t.Name, len(schema), protocol.MaxSchemaBytes)
	}
	m := protocol.Manifest{
		Name: name, Description: describe(t), Schema: schema, Policy: s.policy(t.Name),
		ReadOnly: matches(s.ReadOnly, t.Name), Idempotent: matches(s.Idempotent, t.Name),
		TimeoutMS: time.Duration(s.Timeout).Milliseconds(),
	}
	if s.Trust && t.Annotations != nil {
		m.ReadOnly = m.ReadOnly || t.Annotations.ReadOnlyHint
		m.Idempotent = m.Idempotent || t.Annotations.IdempotentHint
	}
	return m, nil
}

// describe is what the model reads of a tool.
func describe(t *mcp.Tool) string {
	text := t.Description
	if text == "" {
		text = t.Title
	}
	if text == "" && t.Annotations != nil {
		text = t.Annotations.Title
	}
	return events.CutText(events.RepairText(text), maxDescriptionBytes)
}
