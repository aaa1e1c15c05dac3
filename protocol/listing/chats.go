package listing

import "github.com/everturn/everturn/events"

// Names of the queries.
const (
	QueryChats  = "chats"
	QuerySearch = "search"
	QueryUsage  = "usage"
	QueryOpen   = "open"
)

// Limits of a page.
const (
	DefaultLimit = 50
	MaxLimit     = 500
)

// Cursor is a place in a list, as an answer named it. It means nothing to anybody
// else, and what it is made of may change with a release.
type Cursor string

// Status says what a chat is doing. The words are those of a transcript's head.
type Status string

// The statuses.
const (
	StatusIdle         Status = "idle"
	StatusRunning      Status = "running"
	StatusInterrupting Status = "interrupting"
	StatusFailed       Status = "failed"
)

// Archived says what becomes of archived chats in a list.
type Archived string

// What there is to choose from.
const (
	ArchivedHidden Archived = ""     // they are left out
	ArchivedOnly   Archived = "only" // they alone are listed
	ArchivedToo    Archived = "too"  // they are listed among the others
)

// ChatsRequest asks for a page of a tenant's chats, the one that changed last first.
//
// A list that is read by its cursors is as of its first page: each chat that was there
// then and still is stands on exactly one page, in the place it had then, with what
// it is when that page is read. A chat that is made meanwhile is not in it. Where a
// filter is set, it is asked when the page is read.
type ChatsRequest struct {
	V      int    `json:"v,omitempty"`
	After  Cursor `json:"after,omitempty"`  // older ones than that; the next of an answer
	Before Cursor `json:"before,omitempty"` // newer ones than that; the previous of an answer
	Limit  int    `json:"limit,omitempty"`  // how many at most; default 50

	Owner    string   `json:"owner,omitempty"`    // only those that this one made
	Status   Status   `json:"status,omitempty"`   // only those that do this
	Agent    string   `json:"agent,omitempty"`    // only those of this agent
	Archived Archived `json:"archived,omitempty"` // what becomes of archived ones

	Parent   string `json:"parent,omitempty"`   // only those that work for calls of this chat
	Children bool   `json:"children,omitempty"` // those that work for others, too

	// Chat is the only one that is listed. With MinRev the answer waits until that
	// commit is known, for 2 s at most.
	Chat   string `json:"chat,omitempty"`
	MinRev uint64 `json:"min_rev,omitempty"`
}

// Chats is a page of a list.
type Chats struct {
	Chats    []Chat `json:"chats"`
	Next     Cursor `json:"next,omitempty"`     // of the older ones; empty if there are none
	Previous Cursor `json:"previous,omitempty"` // of the newer ones; empty if there are none
}

// Chat is how a chat stands, as a line of a list.
type Chat struct {
	Chat     string      `json:"chat"`
	Rev      uint64      `json:"rev"`
	At       events.Time `json:"at"`              // of the newest commit
	Created  events.Time `json:"created"`         // of the first
	Owner    string      `json:"owner,omitempty"` // who made it, as the command that did says
	Title    string      `json:"title"`           // the beginning of the first input if nobody set one
	Status   Status      `json:"status"`
	Archived bool        `json:"archived,omitempty"`
	Agent    string      `json:"agent,omitempty"` // of its newest turn, or of its settings if they were changed since
	Model    string      `json:"model,omitempty"` // that was asked last

	Parent *events.Parent `json:"parent,omitempty"` // the call that it works for, if it works for one
	Origin *Origin        `json:"origin,omitempty"` // of a fork or an import

	TurnCount    int `json:"turn_count"`    // on all branches, inherited ones included
	MessageCount int `json:"message_count"` // of people and of the assistant, as the turns
	OpenCount    int `json:"open_count"`    // what waits for somebody in it
}

// Origin is the chat that another one goes on from. It may be in another
// installation, and may not exist any more.
type Origin struct {
	Tenant string `json:"tenant"`
	Chat   string `json:"chat"`
	Rev    uint64 `json:"rev"`
}
