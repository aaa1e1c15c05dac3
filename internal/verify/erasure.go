package verify

import (
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// erasure is how far a chat has come that is to be erased.
type erasure struct {
	asked   Place
	command string // that asked
	erased  Place  // the tombstone
	deleted Place
}

// erasing judges the place of a commit in an erasure, before its events are.
func (h *history) erasing(c events.Commit) {
	x := &h.erasure
	first := c.Events[0]
	switch first.(type) {
	case events.ChatErased, events.ContentDeleted:
		if len(c.Events) > 1 {
			h.breaks(RuleChain, Place{}, "%s stands beside other events", first.EventType())
		}
	default:
		if x.erased.known() {
			h.breaks(RuleChain, x.erased, "%s in a chat that is erased", first.EventType())
		}
	}
	if x.asked.known() && c.Cause.Kind == events.CausedByCommand {
		h.breaks(RuleCommands, x.asked, "command %s was decided in a chat that was to be erased", c.Cause.ID)
	}
}

// cut forgets what lies before a tombstone that does not follow it: the rest of it
// is deleted.
func (h *history) cut() {
	h.turn, h.aside, h.asides, h.waiting = nil, nil, 0, nil
	h.tree.due, h.erasure, h.artifacts = nil, erasure{}, nil
	h.cutOff = true
}

// erasureEvent judges an event of an erasure.
func (h *history) erasureEvent(e events.Event) {
	x := &h.erasure
	switch e := e.(type) {
	case events.ChatEraseRequested:
		if x.asked.known() {
			h.breaks(RuleChain, x.asked, "the chat was to be erased before")
		}
		h.due(e.Due, 0)
		x.asked, x.command = h.here, h.cause.ID
		h.tree.due = nil // no turn begins any more
	case events.ChatErased:
		h.tombstone(e)
	case events.ContentDeleted:
		switch {
		case !x.erased.known():
			h.breaks(RuleChain, h.last, "content is deleted of a chat that is not erased")
		case x.deleted.known():
			h.breaks(RuleChain, x.deleted, "content is deleted for the second time")
		}
		x.deleted = h.here
		h.fold.emptied(h)
	default:
		// Not one of them.
	}
}

// tombstone judges the end of a chat. Of one that is the first that is left of
// its log, nothing but itself can be judged.
func (h *history) tombstone(e events.ChatErased) {
	x := &h.erasure
	if e.Requested >= h.here.Rev || e.Requested < 2 {
		h.breaks(RuleChain, Place{}, "the tombstone of rev %d says that rev %d asked for it", h.here.Rev, e.Requested)
	}
	h.due(e.Due, events.EraseDelay)
	switch whole := h.last.Rev == h.here.Rev-1 && !x.erased.known(); {
	case x.erased.known():
		h.breaks(RuleChain, x.erased, "the chat is erased for the second time")
	case whole && !x.asked.known():
		h.breaks(RuleChain, h.last, "the chat is erased, and nobody asked for it")
	case whole && (e.Requested != x.asked.Rev || e.Command != x.command):
		h.breaks(RuleChain, x.asked, "the tombstone names command %s at rev %d, and %s asked for it at rev %d",
			e.Command, e.Requested, x.command, x.asked.Rev)
	}
	if t := h.turn; t != nil {
		h.breaks(RuleTurns, t.start, "the chat is erased while turn %d is open", t.number)
	}
	for _, in := range h.waiting {
		h.breaks(RuleInputs, in.at, "the chat is erased while input %s waits", in.id)
	}
	h.turn, h.aside, h.asides, h.waiting = nil, nil, 0, nil // what was asked beside the turns ends with the chat
	h.artifacts = nil
	x.erased = h.here
	h.kin.buried(h)
}

// due judges the time of a timer that an erasure goes on with.
func (h *history) due(at events.Time, after time.Duration) {
	if d := at.Sub(h.at); d > after || d < after-events.Skew {
		h.breaks(RuleBounds, Place{}, "the erasure goes on %s after this commit, and not %s", d, after)
	}
}

// unfinished judges an erasure when everything has come to rest.
func (h *history) unfinished() {
	x := h.erasure
	switch {
	case x.asked.known() && !x.erased.known():
		h.breaks(RuleChain, x.asked, "the chat was to be erased, and is not")
	case x.erased.known() && !x.deleted.known():
		h.breaks(RuleChain, x.erased, "the content of an erased chat was not deleted")
	}
}

// erasureBrings reports whether an event can follow from the wish to erase a chat.
func erasureBrings(e events.Event) bool {
	switch e.(type) {
	case events.InputWithdrawn, events.TurnInterruptRequested, events.StepInterrupted, events.ContextCompactionFailed:
		return true
	default:
		return false
	}
}

// buried leaves behind what was folded of a chat that is erased.
func (f *fold) buried(c events.Commit) {
	if _, erased := c.Events[0].(events.ChatErased); erased {
		f.stored, f.asked = chat.State{}, true // a snapshot of what is gone is compared with nothing
	}
}

// emptied judges that no snapshot is left of a chat whose content is deleted.
func (f *fold) emptied(h *history) {
	if h.options.Snapshot != nil && len(h.options.Snapshot(h.key)) > 0 {
		h.breaks(RuleReplay, h.erasure.erased, "a snapshot is left of a chat whose content was deleted")
	}
}
