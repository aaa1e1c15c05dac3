package protocol

import "github.com/everturn/everturn/events"

// VerbClientResult brings the result of a call that the client ran itself.
const VerbClientResult Verb = "client-result"

// ClientResult is what a call of one of the client's own tools came to. Each call
// has one; the first holds.
type ClientResult struct {
	V       int           `json:"v"`
	Call    events.CallID `json:"call"`
	Parts   []events.Part `json:"parts,omitempty"`    // text and data; nothing is a result, too
	IsError bool          `json:"is_error,omitempty"` // the model is told that it failed
}

// Verb implements [Body].
func (ClientResult) Verb() Verb { return VerbClientResult }
func (ClientResult) body()      {}
