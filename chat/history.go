package chat

import (
	"fmt"
	"strconv"

	"github.com/everturn/everturn/events"
)

// History is the log of another chat, read and folded: what a new chat goes on
// from.
type History struct {
	// State is the new chat before its first commit. It does not exist yet, and
	// what was open in the other is still open.
	State State

	Origin  events.Origin
	Digest  events.Digest
	Bytes   int64
	Commits []events.Recorded

	// Contents is what the commits refer to, each once, in order.
	Contents []events.Digest
}

// ReadHistory reads and folds the history that an [events.ChatInherited] names.
// The error wraps [events.ErrHistory], or is an [*events.VersionError].
//
// This log may be of anybody's making: one that makes no sense is none.
func ReadHistory(b []byte) (*History, error) {
	commits, err := events.ReadHistory(b)
	if err != nil {
		return nil, err
	}
	h := &History{Origin: events.OriginOf(commits), Digest: events.DigestOf(b), Bytes: int64(len(b)), Commits: commits}
	seen := make(map[events.Digest]bool)
	for i, c := range commits {
		if err := CheckRules(c.Commit); err != nil {
			return nil, err
		}
		if _, begins := c.Events[0].(events.ChatInherited); begins {
			h.State = h.State.Inherit()
		}
		h.State = h.State.Apply(c.Commit, c.Hash)
		if wrong := h.State.Wrong(); wrong != "" {
			return nil, fmt.Errorf("%w: line %d makes no sense: %s", events.ErrHistory, i+1, wrong)
		}
		for _, e := range c.Events {
			for _, d := range events.ContentOf(e) {
				if !d.Valid() {
					return nil, fmt.Errorf("%w: line %d refers to %.80q, which is no digest", events.ErrHistory, i+1, string(d))
				}
				if !seen[d] {
					seen[d] = true
					h.Contents = append(h.Contents, d)
				}
			}
		}
	}
	h.State = h.State.Inherit()
	return h, nil
}

// CheckRules reports rules that this release does not have as an
// [*events.VersionError].
func CheckRules(c events.Commit) error {
	for _, e := range c.Events {
		t, ok := e.(events.TurnStarted)
		switch {
		case !ok:
		case t.Rules > Rules:
			return &events.VersionError{What: "rules", Name: strconv.Itoa(t.Rules)}
		case t.PromptRules > PromptRules:
			return &events.VersionError{What: "prompt rules", Name: strconv.Itoa(t.PromptRules)}
		}
	}
	return nil
}

// Inherit is s as another chat goes on from it: what was said and settled, and
// nothing of who asked for it. That chat does not exist before its own first
// commit, which names the hash of the last one here.
func (s State) Inherit() State {
	s = s.clone()
	s.f.Rev, s.f.Created, s.f.Decided, s.f.Commands, s.f.Forgotten, s.f.Erasure = 0, 0, 0, nil, nil, nil
	s.f.Spawned = nil // its parent waits for the other one
	s.f.Aside = nil   // what a model is asked for beside all turns is of use only there
	s.f.Allowed = nil // what was approved there was approved for that chat
	s.f.LeftOut = min(s.f.LeftOut, beforeAnyAttempt)
	s.at = 0
	return s
}

// decideInherit makes a chat out of what another has left. S is the state of
// that history.
func decideInherit(s State, title string, c Command) Decision {
	h := c.History
	if h == nil {
		return refused(events.CodeInvalidHistory, "there is nothing to begin with")
	}
	if title != "" {
		clean, wrong := cleanTitle(title)
		if wrong != "" {
			return refused(events.CodeBadCommand, "%s", wrong)
		}
		title = clean
	}
	first := events.ChatInherited{
		Origin: h.Origin, History: h.Digest, Bytes: h.Bytes, Settings: s.f.Settings, Title: title, By: c.By,
	}
	return facts(append([]events.Event{first}, s.close(events.ReasonImported, saidImported)...)...)
}

// decideRestored ends what may go on in another installation.
func decideRestored(s State) []events.Event {
	return append(s.stopAside(), s.close(events.ReasonRestored, saidRestored)...)
}

// close ends whatever is open, at once and without asking anybody: it goes on
// elsewhere, and what comes of it is not known here. What waits is taken back. Said
// is what a model is told of calls.
func (s State) close(reason, said string) []events.Event {
	var list []events.Event
	if due := s.f.Sibling; due != nil && due.Input == "" { // one with an input is not due any more without it
		running, _ := s.Running()
		list = append(list, events.BranchSelected{Turn: running})
	}
	if t, st := s.lastStep(); t != nil {
		if _, asked := s.pending(); asked != nil && asked.Phase == phaseOpen {
			list = append(list, events.StepInterrupted{
				Step: events.StepID{Turn: t.Number, Step: asked.Number}, Attempt: asked.Attempt,
			})
		}
		if st != nil {
			for i := range st.Calls {
				if c := &st.Calls[i]; c.open() {
					list = append(list, t.closed(st, c, reason, settledByRule(t.callID(st, c), events.ToolUnknown, said))...)
				}
			}
		}
		list = append(list, events.TurnInterrupted{Turn: t.Number, Reason: reason, Totals: t.totals()})
	}
	for _, in := range s.f.Waiting {
		list = append(list, events.InputWithdrawn{Input: in.ID})
	}
	return list
}
