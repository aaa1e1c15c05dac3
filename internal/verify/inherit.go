package verify

import (
	"bytes"
	"errors"
	"fmt"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// pastCommit is a commit of the history that a chat goes on from.
type pastCommit struct {
	line     int // from 1; 0 is none
	sequence uint64
	key      events.Key // whose it was
}

// owner is the chat whose commit is being judged: another one, while the history
// is that this one goes on from.
func (h *history) owner() events.Key {
	if h.past.line > 0 {
		return h.past.key
	}
	return h.key
}

// inherit judges the history that a chat goes on from, commit by commit, as the
// log that it was. What that leaves open, the chat's first commit must close.
// An error says why nothing of the chat can be judged.
func (h *history) inherit(first events.ChatInherited) error {
	if h.options.Blob == nil {
		return errors.New("the history that it goes on from is not here")
	}
	raw, err := h.options.Blob(h.key, first.History)
	if err == nil && events.DigestOf(raw) != first.History {
		err = fmt.Errorf("it has the digest %s", events.DigestOf(raw))
	}
	if err != nil {
		err = fmt.Errorf("the history that it goes on from: %w", err)
		if !errors.Is(err, ErrNotSeen) {
			h.breaks(RuleTenants, Place{}, "%v", err)
		}
		return err
	}
	list, err := events.ReadHistory(raw)
	if err != nil {
		if errors.Is(err, events.ErrHistory) {
			h.breaks(RuleChain, Place{}, "its history is %v", err)
		}
		return err
	}
	if origin := events.OriginOf(list); origin != first.Origin {
		h.breaks(RuleChain, Place{}, "the history ends with %+v, and not with its origin %+v", origin, first.Origin)
	}
	if first.Bytes != int64(len(raw)) {
		h.breaks(RuleTenants, Place{}, "the history has %d bytes, and not %d", len(raw), first.Bytes)
	}
	h.relive(list, bytes.SplitAfter(raw, []byte("\n")))
	return nil
}

// relive judges the commits of a history, each beside its line.
func (h *history) relive(list []events.Recorded, lines [][]byte) {
	here := h.here
	for i, c := range list {
		if _, begins := c.Events[0].(events.ChatInherited); begins {
			h.begin()
		}
		h.past = pastCommit{line: i + 1, sequence: here.Sequence, key: c.Key}
		h.here = Place{Rev: c.Rev, Sequence: uint64(i + 1)}
		h.read(c.Commit, Entry{Sequence: h.here.Sequence, Commit: bytes.TrimSuffix(lines[i], []byte("\n"))})
	}
	h.begin()
	h.past, h.here = pastCommit{}, here
}

// begin leaves the log that was read behind: the next commit is the first of a
// chat that goes on from it.
func (h *history) begin() {
	h.last, h.lastAt = Place{}, 0
	h.commands, h.command = newRecent[Place](recentCommands), decided{}
	h.aside = nil                              // it stays where it was begun
	h.settled = newRecent[Place](recentInputs) // inputs are named after commands, which begin anew
	h.erasure, h.birth = erasure{}, birth{}
	h.allowed = nil // what was approved there was approved for that chat
	h.fold.inherit()
}

// leftOpen judges the result of a call that is open in the history: nobody here
// can know what comes of it.
func (h *history) leftOpen(c *call, e events.ToolCompleted) {
	if e.Status != events.ToolUnknown || e.Runner != "" {
		h.breaks(RuleLicence, c.asked, "%s was open in the history and is %s, not %s", describe(e.Call, "call"), e.Status, events.ToolUnknown)
	}
}

// closed judges that a chat which goes on from a history, or comes from a backup,
// begins with nothing open: it is open where it came from.
func (h *history) closed() {
	if t := h.turn; t != nil {
		h.breaks(RuleTurns, t.start, "turn %d is open where the chat comes from, and is not closed", t.number)
		h.turn = nil
	}
	for _, in := range h.waiting {
		h.breaks(RuleInputs, in.at, "input %s waits where the chat comes from, and is not taken back", in.id)
	}
	h.waiting = nil
	if due := h.tree.due; due != nil && due.Input != "" {
		h.tree.due = nil // what it was to answer is taken back
	}
}

// whyClosed is the reason for the end of a turn that goes on elsewhere.
func (h *history) whyClosed() string {
	if h.cause.Kind == events.CausedByRestore {
		return events.ReasonRestored
	}
	return events.ReasonImported
}

// restoreBrings reports whether a commit that closes a chat from a backup can begin
// with e.
func restoreBrings(e events.Event) bool {
	switch e.(type) {
	case events.BranchSelected, events.StepInterrupted, events.ContextCompactionFailed, events.ApprovalResolved, events.ToolCompleted,
		events.ChildEnded, events.TurnInterrupted, events.InputWithdrawn:
		return true
	default:
		return false
	}
}

// inherit makes what was folded the past of a chat that goes on from it.
func (f *fold) inherit() {
	f.state, f.shifted = f.state.Inherit(), f.shifted.Inherit()
	f.resumed, f.next = chat.State{}, 0
}
