package protocol

import "github.com/everturn/everturn/events"

// VerbExtend raises a budget.
const VerbExtend Verb = "extend"

// Extend raises the budget of the open turn, or with Chat that of all turns of the
// chat together. A turn that waits for it goes on. It also accepts that some attempts
// cost what nobody knows.
type Extend struct {
	V    int  `json:"v"`
	Turn int  `json:"turn,omitempty"` // without it, the open one
	Chat bool `json:"chat,omitempty"`

	// Add is added to each bound that is set; [events.Unlimited] takes it away.
	Add events.Budget `json:"add,omitzero"`
}

// Verb implements [Body].
func (Extend) Verb() Verb { return VerbExtend }
func (Extend) body()      {}
