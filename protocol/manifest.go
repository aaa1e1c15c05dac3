package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/everturn/everturn/events"
)

// Manifest describes a tool. A runner offers it; it is stored by content, and
// its digest names it from then on.
type Manifest struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Schema      json.RawMessage `json:"schema"` // JSON Schema of the arguments, an object
	Group       string          `json:"group"`
	ReadOnly    bool            `json:"read_only,omitempty"`  // has no effect outside
	Idempotent  bool            `json:"idempotent,omitempty"` // may run again under the same key
	Exclusive   bool            `json:"exclusive,omitempty"`  // must be alone in its step
	StopAfter   bool            `json:"stop_after,omitempty"` // its success ends the turn
	Parallel    *bool           `json:"parallel,omitempty"`   // beside its neighbours; default: if read-only
	TimeoutMS   int64           `json:"timeout_ms,omitempty"` // default [events.DefaultToolTimeout]
	Policy      events.Policy   `json:"policy,omitempty"`     // default allow if read-only, else ask
}

// Limits of a manifest.
const (
	MaxDescriptionBytes = 16 << 10
	MaxSchemaBytes      = 64 << 10
	MaxToolTimeout      = 24 * time.Hour
)

var (
	toolName  = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)
	groupName = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
)

// Validate says everything that is wrong with the manifest, or nil. It does not
// compile the schema.
func (m Manifest) Validate() error {
	var errs []error
	errs = append(errs, ValidateToolName(m.Name))
	if !groupName.MatchString(m.Group) {
		errs = append(errs, errors.New("group: want 1 to 32 of a-z, 0-9, _ and -"))
	}
	if len(m.Description) > MaxDescriptionBytes {
		errs = append(errs, fmt.Errorf("description: %d bytes, at most %d are allowed", len(m.Description), MaxDescriptionBytes))
	}
	if len(m.Schema) > MaxSchemaBytes {
		errs = append(errs, fmt.Errorf("schema: %d bytes, at most %d are allowed", len(m.Schema), MaxSchemaBytes))
	}
	var schema map[string]any
	if err := json.Unmarshal(m.Schema, &schema); err != nil {
		errs = append(errs, fmt.Errorf("schema: want a JSON object: %w", err))
	} else if schema == nil {
		errs = append(errs, errors.New("schema: want a JSON object, not null"))
	}
	if m.TimeoutMS < 0 || m.TimeoutMS > MaxToolTimeout.Milliseconds() {
		errs = append(errs, fmt.Errorf("timeout_ms: want 0 to %d", MaxToolTimeout.Milliseconds()))
	}
	switch m.Policy {
	case "", events.PolicyAllow, events.PolicyAsk, events.PolicyReview:
	default:
		errs = append(errs, fmt.Errorf("policy: want allow, ask or review"))
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("manifest %.70q: %w", m.Name, err)
	}
	return nil
}

// ValidateToolName says what is wrong with the name of a tool, or nil.
func ValidateToolName(name string) error {
	if !toolName.MatchString(name) {
		return errors.New("name: want 1 to 64 of a-z, A-Z, 0-9, _ and -")
	}
	return nil
}

// Encode is the manifest's stored form and its digest.
func (m Manifest) Encode() ([]byte, events.Digest) {
	b, err := json.Marshal(m)
	if err != nil {
		panic(fmt.Sprintf("protocol: manifest without JSON: %v", err)) // Validate has parsed the schema
	}
	return b, events.DigestOf(b)
}

// Tool is the manifest as a turn's settings hold it, defaults filled in.
func (m Manifest) Tool() events.Tool {
	_, digest := m.Encode()
	t := events.Tool{
		Name: m.Name, Group: m.Group, Manifest: digest, ReadOnly: m.ReadOnly, Idempotent: m.Idempotent,
		Exclusive: m.Exclusive, StopAfter: m.StopAfter, Parallel: m.ReadOnly, TimeoutMS: m.TimeoutMS, Policy: m.Policy,
	}
	if m.Parallel != nil {
		t.Parallel = *m.Parallel
	}
	if t.TimeoutMS == 0 {
		t.TimeoutMS = events.DefaultToolTimeout.Milliseconds()
	}
	if t.Policy == "" {
		t.Policy = events.PolicyAsk
		if m.ReadOnly {
			t.Policy = events.PolicyAllow
		}
	}
	return t
}

// Offer tells orchestrators which tools a group of runners has.
type Offer struct {
	V         int        `json:"v"`
	Group     string     `json:"group"`
	Runner    string     `json:"runner"`
	Manifests []Manifest `json:"manifests"`
}

// OfferAnswer says what became of each manifest, in the offer's order: an empty
// string for accepted, else why not. Digests names what was accepted as the work
// will name it, so that no runner needs to write JSON byte for byte as we do.
type OfferAnswer struct {
	Refused []string        `json:"refused"`
	Digests []events.Digest `json:"digests,omitempty"`
}
