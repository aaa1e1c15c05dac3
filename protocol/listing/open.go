package listing

import "github.com/everturn/everturn/events"

// OpenKind says what waits for somebody.
type OpenKind string

// The kinds.
const (
	OpenApproval OpenKind = "approval" // of a call
	OpenQuestion OpenKind = "question" // that a call asks
	OpenClient   OpenKind = "client"   // the client is to run a call and to send its result
	OpenBudget   OpenKind = "budget"   // a turn has used up a budget, or its chat has
	OpenFailure  OpenKind = "failure"  // the newest turn failed
)

// OpenRequest asks what waits for somebody in a tenant's chats, what waits longest
// first. Nothing that waits through all pages is on two of them or on none.
type OpenRequest struct {
	V     int        `json:"v,omitempty"`
	Kinds []OpenKind `json:"kinds,omitempty"` // only these; default all
	After Cursor     `json:"after,omitempty"` // the next of an answer
	Limit int        `json:"limit,omitempty"` // how many at most; default 50

	Chat  string `json:"chat,omitempty"`  // only in this chat
	Owner string `json:"owner,omitempty"` // only in chats that this one made, and in those that work for them
}

// Open is a page of what waits.
type Open struct {
	Open []Waiting `json:"open"`
	Next Cursor    `json:"next,omitempty"`
}

// Waiting is one thing that waits for somebody. What waits in a chat that works for
// another stands under its own chat: that is where it is decided.
type Waiting struct {
	Chat   string         `json:"chat"`
	Title  string         `json:"title"` // of the chat
	Parent *events.Parent `json:"parent,omitempty"`
	Kind   OpenKind       `json:"kind"`
	Since  events.Time    `json:"since"`
	Rev    uint64         `json:"rev"`            // of the commit since which it waits
	Due    events.Time    `json:"due,omitzero"`   // when nobody waits any more
	Turn   int            `json:"turn"`           // that it belongs to
	Call   *events.CallID `json:"call,omitempty"` // of an approval, a question, a client's call
	Tool   string         `json:"tool,omitempty"` // of an approval
	Text   string         `json:"text,omitempty"` // the first question, what failed, which bound was reached

	Class events.ErrorClass `json:"class,omitempty"` // of a failure
}
