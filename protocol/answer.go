package protocol

import "github.com/everturn/everturn/events"

// VerbAnswer answers the questions of a call, or stops their clock.
const VerbAnswer Verb = "answer"

// Answer answers every question of a call, each by its id, in any order. With Hold
// instead it answers none: true stops the clock while somebody thinks, false lets
// it run on.
type Answer struct {
	V       int             `json:"v"`
	Call    events.CallID   `json:"call"`
	Answers []events.Answer `json:"answers,omitempty"` // one to each question, by its id
	Hold    *bool           `json:"hold,omitempty"`    // stop the clock, or let it run on
}

// Verb implements [Body].
func (Answer) Verb() Verb { return VerbAnswer }
func (Answer) body()      {}
