package events

import (
	"bytes"
	"slices"
)

// ReasonErased is why a turn was interrupted that ran when its chat was to be erased.
const ReasonErased = "erased"

// ChatEraseRequested says that the chat is to be erased. From here on it takes no
// command any more; every one is answered with the code erased. The turn that runs is
// interrupted, what waits is withdrawn, and once nothing is open chat.erased follows.
type ChatEraseRequested struct {
	By string `json:"by,omitempty"`

	// Due is from when on the chat is looked at to see whether nothing is open.
	Due Time `json:"due"`
}

// ChatErased is the tombstone of a chat: the only event of its commit, and the
// first thing that is left of its log. No reader looks at what is stored before it.
//
// The commits before it are deleted, the newest first, and so is all other content
// of the chat. Its rev goes on from theirs, and prev is the hash of a commit that is not
// there any more. The chat's id is never free again.
type ChatErased struct {
	Command string `json:"command"` // that asked for it; its outcome is that it was done
	By      string `json:"by,omitempty"`

	// Requested is the rev of chat.erase_requested, Turn the turn that was interrupted
	// for it, if one ran.
	Requested uint64 `json:"requested"`
	Turn      int    `json:"turn,omitempty"`

	// Due is from when on the content is deleted.
	Due Time `json:"due"`
}

// ContentDeleted says that nothing is left of an erased chat but its tombstone. It
// is the last commit of the log, and the only event in it.
type ContentDeleted struct{}

// EventType implements [Event].
func (ChatEraseRequested) EventType() Type { return "chat.erase_requested.v1" }
func (ChatEraseRequested) sealed()         {}

// EventType implements [Event].
func (ChatErased) EventType() Type { return "chat.erased.v1" }
func (ChatErased) sealed()         {}

// EventType implements [Event].
func (ContentDeleted) EventType() Type { return "content.deleted.v1" }
func (ContentDeleted) sealed()         {}

// Erased reports whether a chat whose newest commit has these bytes is erased: then
// that commit is the tombstone, or the one behind it.
func Erased(newest []byte) bool {
	mayBe := false
	for _, e := range []Event{ChatErased{}, ContentDeleted{}} {
		mayBe = mayBe || bytes.Contains(newest, []byte(`"`+string(e.EventType())+`"`)) // most are not, and decoding takes its time
	}
	if !mayBe {
		return false
	}
	c, err := Decode(newest)
	if err != nil {
		return false
	}
	return buries(c)
}

// buries reports whether a commit is a tombstone, or the one behind it. Both stand
// alone; one that does not is none of ours, and nobody goes on from it either.
func buries(c Commit) bool {
	return slices.ContainsFunc(c.Events, func(e Event) bool {
		_, erased := e.(ChatErased)
		_, deleted := e.(ContentDeleted)
		return erased || deleted
	})
}
