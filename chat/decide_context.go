package chat

import (
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// compacting reports whether a summary is being written while no turn runs.
func (s State) compacting() bool {
	return s.f.Aside != nil && s.f.Aside.Purpose == events.PurposeSummary
}

// movesTip reports whether a command is about the branch that is shown.
func movesTip(b protocol.Body) bool {
	v := b.Verb()
	return v == protocol.VerbEdit || v == protocol.VerbRegenerate || v == protocol.VerbSelectBranch
}

// busyContext says why what models are shown cannot be changed now, nil if it can.
func (s State) busyContext(c Command) *Decision {
	var no Decision
	switch turn, running := s.Running(); {
	case running:
		no = rejected(c, events.CodeNotIdle, fmt.Sprintf("turn %d is running", turn), "running")
	case s.f.Aside != nil && s.f.Aside.Purpose != events.PurposeTitle: // which nobody waits for
		no = rejected(c, events.CodeNotIdle, fmt.Sprintf("the model is asked for a %s", s.f.Aside.Purpose), string(s.f.Aside.Purpose))
	default:
		return nil
	}
	return &no
}

// decideCompact asks for a summary because somebody wants it.
func decideCompact(s State, c Command) Decision {
	if no := s.busyContext(c); no != nil {
		return *no
	}
	if s.overdrawnAside() {
		return rejected(c, events.CodeLimitReached, "the budget of the chat is used up: extend it", "")
	}
	if s.tip() != nil {
		if until, ok := s.split(); ok {
			return facts(append(s.stopAside(), s.newSummary(until))...)
		}
	}
	return rejected(c, events.CodeNothingToCompact, "too little is shown to the model to be summed up", "")
}

func decideClear(s State, c Command) Decision {
	if no := s.busyContext(c); no != nil {
		return *no
	}
	t := s.tip()
	if t == nil || !s.shownAnything() {
		return noted(c, 0)
	}
	return facts(events.ContextCleared{Boundary: t.all(), By: c.By})
}

func decideRestore(s State, c Command) Decision {
	if no := s.busyContext(c); no != nil {
		return *no
	}
	b := s.undoable()
	if b == nil {
		return noted(c, 0)
	}
	return facts(events.ContextRestored{Boundary: b.Boundary, By: c.By})
}

// all is the boundary behind everything of a turn that has ended.
func (t *turn) all() events.Boundary {
	b := events.Boundary{Turn: t.Number, Step: len(t.Steps)}
	if len(t.steeredBefore(b.Step+1)) > 0 {
		b.Step++ // what it took for a step that was never asked for
	}
	return b
}

// stopAside ends the step outside of any turn that is under way, if one is.
func (s State) stopAside() []events.Event {
	st := s.f.Aside
	if st == nil {
		return nil
	}
	id := events.StepID{Step: st.Number}
	if st.Phase == phaseOpen {
		return []events.Event{events.StepInterrupted{Step: id, Attempt: st.Attempt}} // and so a summary has failed
	}
	return []events.Event{events.ContextCompactionFailed{Step: id, Class: events.ClassCancelled, Message: saidStopped}}
}
