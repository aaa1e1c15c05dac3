package events

// BranchSelected moves the tip of the chat: what is said next follows the end of
// Turn in what the model reads, or nothing at all if Turn is 0. No turn is lost by
// it, and any may be the tip again. A turn that runs on another branch has been
// asked to end, and what it says until then stays there.
//
// With Again a turn is due beside that one, under the same parent, which is Turn.
// It begins as soon as no turn runs, before anything that waits, and with what
// Again began with. Input is what takes the place of Replaces there, or without
// that of everything; it waits until then. A later choice of a branch takes both
// the place of this one and Input back, and so does whoever stops the chat.
type BranchSelected struct {
	Turn     int    `json:"turn"`
	Again    int    `json:"again,omitempty"`    // the turn that gets another one beside it
	Input    string `json:"input,omitempty"`    // what is said there instead
	Replaces string `json:"replaces,omitempty"` // an input of Again
	By       string `json:"by,omitempty"`
}

// EventType implements [Event].
func (BranchSelected) EventType() Type { return "branch.selected.v1" }
func (BranchSelected) sealed()         {}

// ReasonOtherBranch is why a turn is interrupted whose branch is left.
const ReasonOtherBranch = "another branch was selected"
