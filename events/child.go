package events

import "time"

// Limits of chats that work for others.
const (
	MaxDepth        = 3              // a chat that works for no other has depth 0
	MaxOpenChildren = 8              // of one chat; a call beyond them waits for a place
	ChildTime       = 24 * time.Hour // a call waits for its child; as long as a child may wait for a person
	MaxTaskBytes    = 32 << 10       // what a child is told to do
)

// Parent names the call that a chat works for. It is of the same tenant.
type Parent struct {
	Chat string `json:"chat"`
	Call CallID `json:"call"`
}

// ChatSpawned is the first event of a chat that works for a call of another. What it
// is to do, and its first turn, are in the same commit. Only that turn is told to the
// parent: whatever is said in the chat later is between it and whoever says it.
//
// A release that knows only chat.created.v1 leaves such a chat alone: it would not
// tell the parent, nor hear from it.
type ChatSpawned struct {
	Parent   Parent   `json:"parent"` // the call that the chat works for
	Depth    int      `json:"depth"`  // of this chat; one more than its parent's
	Settings Settings `json:"settings"`
	Title    string   `json:"title,omitempty"`

	// Granted is what the first turn may spend of its parent's budget, with all that
	// works for it. It cannot be extended, and whoever has used it up ends.
	Granted Budget `json:"granted,omitzero"`
}

// ChildSpawned says that a call is worked on by a chat of its own. It does not say
// that the chat exists: who owes the report of it makes it.
type ChildSpawned struct {
	Call  CallID `json:"call"`
	Child string `json:"child"` // a chat of the same tenant, whose name follows from the call
	Depth int    `json:"depth"` // of the child
	Due   Time   `json:"due"`   // when the call is settled without it

	// Granted is the child's share of what was left to spend. Until the child has ended
	// nobody else may have it.
	Granted Budget `json:"granted,omitzero"`
}

// ChildOutcome says how the first turn of a child ended.
type ChildOutcome string

// The outcomes. Unknown is one that nobody waited for.
const (
	ChildCompleted   ChildOutcome = "completed"
	ChildFailed      ChildOutcome = "failed"
	ChildInterrupted ChildOutcome = "interrupted"
	ChildBudget      ChildOutcome = "budget" // which it had used up
	ChildErased      ChildOutcome = "erased"
	ChildUnknown     ChildOutcome = "unknown"
)

// ChildEnded says what became of a child. The result of its call is in the same
// commit. Of an outcome that is erased or unknown, nobody knows what it took.
type ChildEnded struct {
	Call    CallID       `json:"call"`
	Child   string       `json:"child"`   // the chat that worked for it
	Outcome ChildOutcome `json:"outcome"` // how its first turn ended
	Totals  Totals       `json:"totals"`  // of its first turn

	// Spent is what counts in the budgets of the parent: what the child's first turn
	// took, with all that worked for it. Where nobody knows, it is all that was granted,
	// and if that was without a bound of money an attempt of unknown cost.
	Spent Spending `json:"spent,omitzero"`
}

// EventType implements [Event].
func (ChatSpawned) EventType() Type { return "chat.created.v3" }
func (ChatSpawned) sealed()         {}

// EventType implements [Event].
func (ChildSpawned) EventType() Type { return "child.spawned.v1" }
func (ChildSpawned) sealed()         {}

// EventType implements [Event].
func (ChildEnded) EventType() Type { return "child.ended.v1" }
func (ChildEnded) sealed()         {}
