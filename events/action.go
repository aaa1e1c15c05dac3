package events

import (
	"encoding/json"
	"time"
)

// Limits of a client's own tools.
const (
	MaxClientTools      = 64
	MaxClientToolsBytes = 64 << 10 // of all of a chat's, as JSON

	// ActionTimeout is how long a client has to send the results of its calls.
	ActionTimeout = 5 * time.Minute
)

// ClientTool is a tool that the client runs itself.
type ClientTool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"` // what the model is told about it
	Schema      json.RawMessage `json:"schema"`                // JSON Schema of the arguments, an object
}

// ActionRequested says that nothing but calls of the client's own tools is open: it
// is to run them and to send their results, each by itself. What has none when its
// time is over gets the result timeout.
type ActionRequested struct {
	Step  StepID   `json:"step"`
	Calls []CallID `json:"calls"` // all that are open
	Due   Time     `json:"due"`   // when nobody waits any more
}

// EventType implements [Event].
func (ActionRequested) EventType() Type { return "action.requested.v1" }
func (ActionRequested) sealed()         {}
