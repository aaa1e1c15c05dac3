package chat

import (
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// erasure is how far a chat has come that is to be erased. Each phase owes the next
// one by a timer: whoever handles that does what is left of it.
type erasure struct {
	Phase   erasurePhase `json:"phase"`
	Command string       `json:"command"`
	By      string       `json:"by,omitempty"`
	Asked   uint64       `json:"asked"`          // rev of the request
	Turn    int          `json:"turn,omitempty"` // that was interrupted for it
	Rev     uint64       `json:"rev"`            // of the commit that the phase began with
	Due     events.Time  `json:"due"`            // of the timer that is owed
}

type erasurePhase string

const (
	eraseRequested erasurePhase = "requested" // something may still be open
	eraseBuried    erasurePhase = "erased"    // the tombstone stands, content may be left
	eraseDone      erasurePhase = "deleted"   // nothing but the tombstone is left
)

func (p erasurePhase) known() bool {
	switch p {
	case eraseRequested, eraseBuried, eraseDone:
		return true
	}
	return false
}

// EraseRequested reports whether the chat is to be erased, or was: it takes no
// command any more.
func (s State) EraseRequested() bool { return s.f.Erasure != nil }

// Erased reports whether the chat is erased: its tombstone stands.
func (s State) Erased() bool { return s.f.Erasure != nil && s.f.Erasure.Phase != eraseRequested }

// DeletionOwed reports whether content of the erased chat may be left, which is to
// be deleted before [protocol.TimerDelete] is decided.
func (s State) DeletionOwed() bool { return s.f.Erasure != nil && s.f.Erasure.Phase == eraseBuried }

// saidErased says to people that the chat is gone.
func (s State) saidErased() string {
	if s.Erased() {
		return "the chat was erased"
	}
	return "the chat is being erased"
}

// decideErase brings everything that is open on its way to an end. The tombstone
// follows in a commit of its own, since that is what will be left.
func decideErase(s State, b protocol.Erase, c Command, at events.Time) Decision {
	if b.Rev != nil && *b.Rev != s.Rev() {
		return rejected(c, events.CodeNotIdle, fmt.Sprintf("rev: the chat has come to %d", s.Rev()), "")
	}
	list := []events.Event{events.ChatEraseRequested{By: c.By, Due: at}}
	for _, in := range s.f.Waiting {
		list = append(list, events.InputWithdrawn{Input: in.ID})
	}
	list = append(list, s.stopAside()...)
	if _, running := s.Running(); running && !s.Interrupting() {
		list = append(list, s.stopTurn(events.ReasonErased, c.By, at)...)
	}
	return facts(list...)
}

// decideErasure takes the step that a timer was set for.
func (s State) decideErasure(kind protocol.TimerKind, at events.Time) []events.Event {
	e := s.f.Erasure
	switch {
	case e == nil:
	case kind == protocol.TimerErase && e.Phase == eraseRequested && s.f.Current == nil:
		return []events.Event{events.ChatErased{
			Command: e.Command, By: e.By, Requested: e.Asked, Turn: e.Turn, Due: at.Add(events.EraseDelay),
		}}
	case kind == protocol.TimerDelete && e.Phase == eraseBuried:
		return []events.Event{events.ContentDeleted{}}
	}
	return nil
}

// owedErasure is the timer that takes the next step, once no turn is open.
func (s State) owedErasure() []protocol.Work {
	e := s.f.Erasure
	if e == nil {
		return nil
	}
	switch e.Phase {
	case eraseRequested:
		return []protocol.Work{s.timer(protocol.TimerName{Kind: protocol.TimerErase}, e.Rev, e.Due)}
	case eraseBuried:
		return []protocol.Work{s.timer(protocol.TimerName{Kind: protocol.TimerDelete}, e.Rev, e.Due)}
	case eraseDone:
	}
	return nil
}

// askErasure, bury and empty fold the events of an erasure.
func (s *State) askErasure(e events.ChatEraseRequested) {
	s.f.Erasure = &erasure{Phase: eraseRequested, By: e.By, Asked: s.f.Rev, Rev: s.f.Rev, Due: e.Due}
	s.f.Sibling = nil // no turn begins any more
}

// Of an erased chat the state is what the tombstone says and nothing else: so it is
// the same when that is all that is left.
func (s *State) bury(e events.ChatErased) {
	s.f = fields{
		Tenant: s.f.Tenant, Chat: s.f.Chat, Rev: s.f.Rev,
		Commands: []*protocol.Reply{{ID: e.Command, OK: true, Rev: e.Requested, Turn: e.Turn}},
		Erasure: &erasure{
			Phase: eraseBuried, Command: e.Command, By: e.By, Asked: e.Requested, Turn: e.Turn, Rev: s.f.Rev, Due: e.Due,
		},
	}
	s.path, s.hashed = nil, new(hashed)
}

func (s *State) empty() {
	done := *s.f.Erasure
	done.Phase, done.Rev, done.Due = eraseDone, s.f.Rev, 0
	s.f.Erasure = &done
}

func (s State) misfitAskErasure() string {
	if s.f.Erasure != nil {
		return "the chat is to be erased already"
	}
	return ""
}

func (s State) misfitBury() string {
	if s.f.Current != nil {
		return fmt.Sprintf("the chat is erased while turn %d is open", s.f.Current.Number)
	}
	return ""
}

// crowded says which event of an erasure stands beside others in its commit. The
// tombstone is left for ever: what stands beside it would never be gone.
func crowded(c events.Commit) string {
	if len(c.Events) == 1 {
		return ""
	}
	for _, e := range c.Events {
		_, erased := e.(events.ChatErased)
		_, deleted := e.(events.ContentDeleted)
		if erased || deleted {
			return fmt.Sprintf("%s stands beside other events", e.EventType())
		}
	}
	return ""
}

// misfitErased says what cannot be in a chat that is erased.
func (s State) misfitErased(e events.Event) string {
	if _, deleted := e.(events.ContentDeleted); deleted && s.DeletionOwed() {
		return ""
	}
	return fmt.Sprintf("%s in a chat that is erased", e.EventType())
}

func (s State) misfitEmpty() string {
	if !s.Erased() {
		return "content is deleted of a chat that is not erased"
	}
	return ""
}
