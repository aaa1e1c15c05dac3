package protocol

import "github.com/everturn/everturn/events"

// The verbs about branches.
const (
	VerbEdit         Verb = "edit"
	VerbRegenerate   Verb = "regenerate"
	VerbSelectBranch Verb = "select-branch"
)

// Edit says something else in place of what a turn began with: a new turn answers
// it, beside that one. Input names one of several inputs; without it Parts take
// the place of all. Without Turn that is the turn which took Input, or the last of
// the selected branch. What was said is not changed, and can be selected again.
//
// Settings hold for the new turn; without them those of the input replaced. A turn
// that runs is interrupted first. An input that comes meanwhile to interrupt is read
// behind the edit, in the same turn; one that rolls back, or an interrupt, takes the
// edit back.
type Edit struct {
	V        int              `json:"v"`
	Turn     int              `json:"turn,omitempty"`
	Input    string           `json:"input,omitempty"`
	Parts    []events.Part    `json:"parts"`
	Settings *events.Settings `json:"settings,omitempty"`
}

// Regenerate answers once more what a turn began with, in a new turn beside it;
// without Turn, the last of the selected branch.
type Regenerate struct {
	V    int `json:"v"`
	Turn int `json:"turn,omitempty"`
}

// SelectBranch goes on behind the end of a turn, on whatever branch that is.
type SelectBranch struct {
	V    int `json:"v"`
	Turn int `json:"turn"`
}

// Verb implements [Body].
func (Edit) Verb() Verb { return VerbEdit }
func (Edit) body()      {}

// Verb implements [Body].
func (Regenerate) Verb() Verb { return VerbRegenerate }
func (Regenerate) body()      {}

// Verb implements [Body].
func (SelectBranch) Verb() Verb { return VerbSelectBranch }
func (SelectBranch) body()      {}
