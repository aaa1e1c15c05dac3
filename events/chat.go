package events

// ChatCreated is the first event of a chat.
type ChatCreated struct {
	Settings Settings `json:"settings"`
	Title    string   `json:"title,omitempty"`
	By       string   `json:"by,omitempty"`
}

// ChatInherited is the first event of a chat that goes on from the log of
// another: a fork, or an import. A release that knows only chat.created.v1
// leaves such a chat alone.
//
// History is content of the new chat: the commits of the origin up to the rev
// that Origin names, byte for byte as they are stored there, each with a line
// break behind it. If the origin has a history itself, that comes first. What
// comes before this commit is the one whose hash Origin has, so the chain goes on
// through both logs. The rest of the commit closes what was open there; the
// origin is never touched.
//
// Settings are the whole of them, as they were there. Without Title the chat has
// the one it had.
type ChatInherited struct {
	Origin   Origin   `json:"origin"`  // the last commit of the history
	History  Digest   `json:"history"` // what the chat goes on from
	Bytes    int64    `json:"bytes"`   // of History
	Settings Settings `json:"settings"`
	Title    string   `json:"title,omitempty"`
	By       string   `json:"by,omitempty"`
}

// Origin names the last commit that a chat has from another one, which may be in
// another installation, and may not exist any more.
type Origin struct {
	Tenant string `json:"tenant"`
	Chat   string `json:"chat"`
	Rev    uint64 `json:"rev"`  // number of that commit in its own chat
	Hash   string `json:"hash"` // of the commit's bytes
}

// ReasonImported is why a turn was interrupted that is open in the origin of a
// fork or an import.
const ReasonImported = "imported"

// ReasonParent is why the first turn of a chat was interrupted that works for
// another: that one waits for it no more.
const ReasonParent = "its parent waits no more"

// ReasonBudget is why the first turn of a chat was interrupted that works for another
// one and had used up its budget.
const ReasonBudget = "its budget is used up"

// ReasonRestored is why a turn was interrupted that was open in a backup.
const ReasonRestored = "restored"

// ChatConfigured records new settings of a chat: the whole of them, after the
// merge, so that a reader needs no earlier event. They count from the next turn on.
type ChatConfigured struct {
	Settings Settings `json:"settings"`
}

// ChatTitled records a new title. While there is none, people are shown the
// beginning of the first input.
type ChatTitled struct {
	Title string `json:"title"`
	By    string `json:"by,omitempty"`

	// Step is where a model proposed it; nil if a person gave it.
	Step *StepID `json:"step,omitempty"`
}

// ChatArchived takes the chat out of the usual lists. It changes nothing else.
type ChatArchived struct{}

// ChatUnarchived puts the chat back into the usual lists.
type ChatUnarchived struct{}

// CommandRejected records that the command named by the commit's cause was
// decided with a no. Its outcome never changes, whatever happens later.
type CommandRejected struct {
	Verb    string `json:"verb"`
	Code    Code   `json:"code"`
	Message string `json:"message"`
	Status  string `json:"status,omitempty"` // what the thing asked about is now
}

// CommandNoted records that the command named by the commit's cause was
// accepted and there was nothing to do.
type CommandNoted struct {
	Verb string `json:"verb"`
	Turn int    `json:"turn,omitempty"`
}

// EventType implements [Event].
func (ChatCreated) EventType() Type { return "chat.created.v1" }
func (ChatCreated) sealed()         {}

// EventType implements [Event].
func (ChatInherited) EventType() Type { return "chat.created.v2" }
func (ChatInherited) sealed()         {}

// EventType implements [Event].
func (ChatConfigured) EventType() Type { return "chat.configured.v1" }
func (ChatConfigured) sealed()         {}

// EventType implements [Event].
func (ChatTitled) EventType() Type { return "chat.titled.v1" }
func (ChatTitled) sealed()         {}

// EventType implements [Event].
func (ChatArchived) EventType() Type { return "chat.archived.v1" }
func (ChatArchived) sealed()         {}

// EventType implements [Event].
func (ChatUnarchived) EventType() Type { return "chat.unarchived.v1" }
func (ChatUnarchived) sealed()         {}

// EventType implements [Event].
func (CommandRejected) EventType() Type { return "command.rejected.v1" }
func (CommandRejected) sealed()         {}

// EventType implements [Event].
func (CommandNoted) EventType() Type { return "command.noted.v1" }
func (CommandNoted) sealed()         {}
