package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func decideInterrupt(s State, b protocol.Interrupt, c Command, at events.Time) Decision {
	last := s.newest()
	running, ok := s.Running()
	switch {
	case s.f.Sibling != nil && b.Turn == last+1: // that which is due, and which its sender was told of
		return facts(s.dropDue(false, c, at)...)
	case b.Turn < 0 || b.Turn > last:
		return rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", b.Turn), "")
	case b.Turn == 0 && !ok && s.compacting():
		return facts(s.stopAside()...)
	case b.Turn == 0 && !ok:
		return rejected(c, events.CodeNotRunning, "no turn is running", "")
	case b.Turn != 0 && b.Turn != running:
		return rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d has ended", b.Turn), "")
	case s.f.Sibling != nil: // else a turn would begin as soon as this one has stopped
		return facts(s.dropDue(false, c, at)...)
	case s.Interrupting():
		return noted(c, running)
	}
	return facts(s.stopTurn(events.Shorten(events.RepairText(b.Reason), maxReasonChars), c.By, at)...)
}

// stopTurn asks the running turn to end, and closes what certainly has not begun
// in it. Whoever wants a turn to end, for whatever reason, does it by this.
// One of its calls may be settled already, in the same commit.
func (s State) stopTurn(reason, by string, at events.Time, settled ...events.CallID) []events.Event {
	t, st := s.lastStep()
	list := []events.Event{events.TurnInterruptRequested{Turn: t.Number, Reason: reason, By: by, Due: at.Add(events.EndDelay)}}
	if st == nil {
		return list
	}
	for i := range st.Calls {
		c, id := &st.Calls[i], t.callID(st, &st.Calls[i])
		if c.open() && !c.inHand() && !slices.Contains(settled, id) {
			list = append(list, t.closed(st, c, becauseInterrupted, c.interrupted(id))...)
		}
	}
	return list
}

// finishInterrupt ends an interrupted turn once nothing of it is open.
func (s State) finishInterrupt() []events.Event {
	t, st := s.lastStep()
	if _, asked := s.pending(); asked != nil && asked.Phase == phaseOpen {
		return nil
	}
	if st != nil {
		for i := range st.Calls {
			if st.Calls[i].open() {
				return nil
			}
		}
	}
	return []events.Event{events.TurnInterrupted{Turn: t.Number, Reason: t.Reason, Totals: t.totals()}}
}

// endNow settles everything that is open in an interrupted turn.
func (s State) endNow(partial []events.Part) []events.Event {
	var list []events.Event
	if t, st := s.pending(); st != nil && st.Phase == phaseOpen {
		ended := AttemptEnded{Step: events.StepID{Turn: t.Number, Step: st.Number}, Attempt: st.Attempt, Partial: partial}
		list = append(list, interruptedStep(ended, st.Purpose))
	}
	t, st := s.lastStep()
	if st == nil {
		return list
	}
	for i := range st.Calls {
		if c := &st.Calls[i]; c.open() {
			end := settledByRule(t.callID(st, c), c.settledWithout(events.ToolCancelled), "")
			if c.Child != nil {
				end = settledByRule(t.callID(st, c), events.ToolUnknown, saidChildSilent)
			}
			list = append(list, t.closed(st, c, becauseInterrupted, end)...)
		}
	}
	return list
}
