package protocol

import (
	"encoding/json"

	"github.com/everturn/everturn/events"
)

// ApproveDecision is what somebody wants to happen with a call that waits.
type ApproveDecision string

// The decisions.
const (
	DecideApprove        ApproveDecision = "approve"
	DecideApproveForChat ApproveDecision = "approve_for_chat" // the same call need not be asked about again in this chat
	DecideDeny           ApproveDecision = "deny"
)

// Approve decides about a call that waits for approval. The first decision holds;
// a later one is refused and told what was decided.
type Approve struct {
	V        int             `json:"v"`
	Call     events.CallID   `json:"call"`
	Decision ApproveDecision `json:"decision"`

	// Arguments is the digest that the request for approval names. With it, a
	// decision about other arguments than the call has now is refused.
	Arguments events.Digest `json:"arguments,omitempty"`

	// Args are what the call shall run with in place of what the model wrote: one
	// object that fits the tool's schema. The model is told of it.
	Args json.RawMessage `json:"args,omitempty"`

	Permissions *events.Permissions `json:"permissions,omitempty"` // of an approval
	Reason      string              `json:"reason,omitempty"`      // of a denial the model is told it
	Stop        bool                `json:"stop,omitempty"`        // with a denial: interrupt the turn, too
}

// SetMode says which calls need a person, at once and for later turns; or whether the
// model only plans, from the next turn on; or both. What is left out stays as it is.
type SetMode struct {
	V        int                 `json:"v"`
	Approval events.ApprovalMode `json:"approval,omitempty"`
	Plan     *bool               `json:"plan,omitempty"` // the model changes nothing yet, and has no tool that would
}

// Verb implements [Body].
func (Approve) Verb() Verb { return VerbApprove }
func (Approve) body()      {}

// Verb implements [Body].
func (SetMode) Verb() Verb { return VerbSetMode }
func (SetMode) body()      {}
