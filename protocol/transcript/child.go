package transcript

import "github.com/everturn/everturn/events"

// CallChild is the status of a call that another chat works for.
const CallChild CallStatus = "child"

// Work is the chat that works for a call, or did.
type Work struct {
	Chat    string              `json:"chat"`
	Due     events.Time         `json:"due"`               // when the call is settled without it
	Outcome events.ChildOutcome `json:"outcome,omitempty"` // empty while it works
	Totals  events.Totals       `json:"totals,omitzero"`   // of what it did for the call
}

// Child is how a chat stands now that works for an open call of another one.
type Child struct {
	Call   events.CallID `json:"call"`
	Chat   string        `json:"chat"`
	Status Status        `json:"status,omitempty"` // empty if it cannot be seen: it is not there yet, or was erased
	Awaits []Awaited     `json:"awaits,omitempty"` // in it, and in chats that work for it
}

// Awaited is a call that waits for somebody in a chat that works for another one.
// What is decided about it is sent to its own chat.
type Awaited struct {
	Chat   string        `json:"chat"`
	Call   events.CallID `json:"call"`
	Tool   string        `json:"tool"`
	Status CallStatus    `json:"status"` // approval or asking

	Arguments string    `json:"arguments,omitempty"` // their beginning
	Question  *Question `json:"question,omitempty"`  // of one that asks
}
