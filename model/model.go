// Package model is the port to language models: what a step shows a model, and
// what comes back. Each family of provider has an adapter in a package below.
package model

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/everturn/everturn/events"
)

// Model asks one model. Implementations are safe for concurrent use.
type Model interface {
	// Stream asks once and yields what arrives, in order. There is no retry and
	// no loop inside: that is for the caller, who records each attempt.
	//
	// A delta without text is a sign of life: the provider keeps the connection
	// alive, or sends what is not shown. An implementation that gives none is
	// taken for silent while nothing is said.
	//
	// The last value yielded is either a Delta with Answer set, or a nil-safe
	// error, an [*Error] where the cause is known. Nothing follows it. A stream
	// that breaks off is an error of class incomplete, never an answer.
	//
	// The caller may stop early, or cancel ctx; both close the connection. The
	// stream must end at once then: who asks waits for it before a slot is free
	// again, or the process may stop, and cannot end it by force. Nothing is lost
	// if it does not, as the attempt is closed without it.
	Stream(ctx context.Context, r Request) iter.Seq2[Delta, error]
}

// Role says who speaks in a message.
type Role string

// The roles.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Request is everything a model is shown for one step. Content above
// [events.MaxInlineBytes] stands in it by digest; the caller of Stream puts the
// bytes in their place first.
//
// Its canonical JSON is hashed into step.requested, so the order of the fields,
// and what stands in them, is wire format. The stable part comes first.
type Request struct {
	Model           string    `json:"model"`
	System          string    `json:"system,omitempty"`
	Tools           []Tool    `json:"tools,omitempty"`
	MaxOutputTokens int       `json:"max_output_tokens,omitempty"`
	Messages        []Message `json:"messages"`
}

// Tool is a tool the model may call. The manifest's digest stands for the
// description and schema in the canonical form; the caller of Stream fills both.
type Tool struct {
	Name        string          `json:"name"`
	Manifest    events.Digest   `json:"manifest"`
	Description string          `json:"-"`
	Schema      json.RawMessage `json:"-"`
}

// Message is one message: parts of a user or of the assistant, or the results
// of all calls of the assistant's message before, in call order.
type Message struct {
	Role    Role          `json:"role"`
	Parts   []events.Part `json:"parts,omitempty"`
	Results []Result      `json:"results,omitempty"`

	// Instruction marks what Everturn itself says at the end of a request, and says
	// again at the end of the next one: to a provider it is a message as any other, but
	// it need not keep it.
	Instruction bool `json:"-"`
}

// Result answers one call. WireID is the id of the call as sent to the
// provider: unique within the request, also where the provider's was not.
type Result struct {
	WireID  string        `json:"wire_id"`
	Name    string        `json:"name"`
	Parts   []events.Part `json:"parts"`
	IsError bool          `json:"is_error,omitempty"`
}

// Canonical is the request's JSON with fixed field order. It holds no keys and
// no transport headers. Its last field is the list of messages, each as
// [Message.Canonical] gives it; a request always has one, if only an empty one.
func (r Request) Canonical() []byte {
	if r.Messages == nil {
		r.Messages = []Message{}
	}
	return canonical(r)
}

// Canonical is the message's JSON as it stands in that of its request.
func (m Message) Canonical() []byte { return m.AppendCanonical(nil) }

// DeltaKind says what a delta adds to.
type DeltaKind string

// The kinds of delta.
const (
	DeltaText      DeltaKind = "text"
	DeltaReasoning DeltaKind = "reasoning"
	DeltaCall      DeltaKind = "call" // a piece of a call's arguments
)

// Delta is a piece of an answer on its way. Deltas are for watching; Answer is
// what counts.
type Delta struct {
	Kind DeltaKind
	Part int // index of the part in the answer, from 0
	Text string

	// Answer ends the stream. All other fields are then empty.
	Answer *Answer
}

// Answer is a model's whole answer to one request.
type Answer struct {
	Parts      []events.Part
	Stop       events.Stop
	RawStop    string
	Usage      events.Usage
	CostMicros *int64
	Provider   events.Provider

	// RawUsage is what the provider reported of usage, word for word; see
	// [events.StepCompleted].
	RawUsage []string
}

// Error is why an attempt brought no answer.
type Error struct {
	Class      events.ErrorClass
	Message    string        // for people, without secrets
	RetryAfter time.Duration // what the provider asked for; 0 if nothing or nonsense
	Status     int           // of HTTP, 0 if there was none
	Usage      events.Usage
	CostMicros *int64 // of Usage; nil means nobody knows
	Err        error  // the raw cause, for the process log only
}

func (e *Error) Error() string { return fmt.Sprintf("model: %s: %s", e.Class, e.Message) }

// Unwrap gives the raw cause.
func (e *Error) Unwrap() error { return e.Err }
