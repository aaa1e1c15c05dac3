package projections

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
)

// erased is what is left to be told of a chat that is erased.
type erased struct {
	at events.Time
	by string
}

// bury forgets everything but that the chat is erased, and that whoever asked for it
// has got it.
func (f *fold) bury(e events.ChatErased) {
	left := newFold(f.key)
	left.sequence, left.hash, left.bytes = f.sequence, f.hash, f.bytes
	left.head.Rev, left.head.At = f.head.Rev, f.head.At
	left.outcomes[e.Command] = protocol.Reply{ID: e.Command, OK: true, Rev: e.Requested, Turn: e.Turn}
	left.erased = &erased{at: f.head.At, by: e.By}
	*f = *left
}

// gone is the answer to whoever asks what was said in an erased chat.
func (f *fold) gone() error {
	if f.erased == nil {
		return nil
	}
	by := ""
	if f.erased.by != "" {
		by = " by " + f.erased.by
	}
	return question.Refuse(events.CodeErased, "chat %s was erased at %s%s", f.key.Chat, f.erased.at.Time().UTC().Format(time.RFC3339), by)
}

// follows reports whether a commit is the next one. What a tombstone goes on from is
// deleted, or is about to be.
func (f *fold) follows(c events.Commit) bool {
	if _, tombstone := c.Events[0].(events.ChatErased); tombstone && f.sequence == 0 {
		return true
	}
	return c.Rev == f.head.Rev+1 && c.Prev == f.hash
}

// buried reports whether the chat is erased, given its newest commit. A fold from
// before begins anew, at the tombstone: nothing else is shown any more, whatever moment
// is asked for.
func (e *entry) buried(last protocol.Stored) bool {
	if !events.Erased(last.Body) {
		return false
	}
	if e.fold.erased == nil {
		e.fold = newFold(e.as.key)
	}
	return true
}

// tombstoneFrom is the sequence to read behind to find the tombstone of an erased chat
// whose newest commit is given.
func tombstoneFrom(last protocol.Stored) (uint64, error) {
	c, err := events.Decode(last.Body)
	if err != nil {
		return 0, fmt.Errorf("tombstone: %w", err)
	}
	if _, is := c.Events[0].(events.ChatErased); is {
		return last.Sequence - 1, nil
	}
	return 0, nil // nothing else was left when the commit behind it was written
}
