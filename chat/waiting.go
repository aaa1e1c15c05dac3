package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// rank orders the modes by who goes first among those that wait: what stops a
// turn goes before what is only for it, that before what waits for its end, and
// what takes the turn back before what goes on behind it.
func rank(m events.SendMode) int {
	switch m {
	case events.ModeRollback:
		return 0
	case events.ModeInterrupt:
		return 1
	case events.ModeSteer:
		return 2
	case events.ModeQueue, events.ModeReject:
	}
	return 3
}

func stopsTurns(m events.SendMode) bool {
	return m == events.ModeInterrupt || m == events.ModeRollback
}

// placeFor is where a new input of that mode belongs, counted from 1: behind all
// that it must not overtake.
func placeFor(waiting []input, m events.SendMode) int {
	place := 1
	for i, in := range waiting {
		if rank(in.Mode) <= rank(m) {
			place = i + 2
		}
	}
	return place
}

// Waiting are the ids of the inputs that wait, in the order in which they will be
// taken.
func (s State) Waiting() []string {
	ids := make([]string, len(s.f.Waiting))
	for i, in := range s.f.Waiting {
		ids[i] = in.ID
	}
	return ids
}

func waitingAt(waiting []input, id string) int {
	return slices.IndexFunc(waiting, func(in input) bool { return in.ID == id })
}

// promoted is the list after an input changed its place in it.
func promoted(waiting []input, e events.InputPromoted) []input {
	i := waitingAt(waiting, e.Input)
	if i < 0 {
		return waiting
	}
	in := waiting[i]
	if e.Interrupt && in.Mode != events.ModeRollback {
		in.Mode = events.ModeInterrupt
	}
	rest := without(waiting, []string{e.Input})
	return slices.Insert(rest, min(max(e.Place-1, 0), len(rest)), in)
}

// edited is the list after an input was given other content.
func edited(waiting []input, e events.InputEdited) []input {
	list := slices.Clone(waiting)
	if i := waitingAt(list, e.Input); i >= 0 {
		list[i].Parts = e.Parts
	}
	return list
}

// batch is what the next turn takes: the first that waits, and those right behind
// it that were sent in the same way.
func batch(waiting []input) []input {
	n := 1
	for n < len(waiting) && waiting[n].Mode == waiting[0].Mode {
		n++
	}
	return waiting[:n]
}

// rolledBack reports whether an input that waits came to take a turn back. The next
// turn makes that true, also if another input was put in front of this one.
func (s State) rolledBack(turn int) bool {
	return slices.ContainsFunc(s.f.Waiting, func(in input) bool { return in.Rolls == turn })
}

// steer gives what waits to be read by the running turn to its next step, which is
// about to begin; nil if nothing does.
func (s State) steer() []events.Event {
	t := s.f.Current
	e := events.InputSteered{Step: events.StepID{Turn: t.Number, Step: len(t.Steps) + 1}}
	for _, in := range s.f.Waiting {
		if in.Mode == events.ModeSteer {
			e.Inputs = append(e.Inputs, in.ID)
		}
	}
	if len(e.Inputs) == 0 {
		return nil
	}
	return []events.Event{e}
}

// steered is what a turn took before one of its steps.
type steered struct {
	Before int     `json:"before"` // number of that step
	Inputs []input `json:"inputs"`
}

func (s *State) steerTurn(e events.InputSteered) {
	taken := steered{Before: e.Step.Step}
	for _, id := range e.Inputs {
		taken.Inputs = append(taken.Inputs, s.f.Waiting[waitingAt(s.f.Waiting, id)])
	}
	s.f.Waiting = without(s.f.Waiting, e.Inputs)
	s.f.Current.Steered = with(s.f.Current.Steered, taken)
}

// steeredBefore is what people said to the turn right before a step of it.
func (t *turn) steeredBefore(number int) []input {
	var list []input
	for _, taken := range t.Steered {
		if taken.Before == number {
			list = append(list, taken.Inputs...)
		}
	}
	return list
}

// steeredSince reports whether people have said something to the turn behind its
// step of that number.
func (t *turn) steeredSince(number int) bool {
	n := len(t.Steered)
	return n > 0 && t.Steered[n-1].Before > number
}

// answersSinceInput is how many steps of the turn answer since somebody spoke.
func (t *turn) answersSinceInput() int {
	from := 0
	if n := len(t.Steered); n > 0 {
		from = min(max(t.Steered[n-1].Before-1, 0), len(t.Steps))
	}
	n := 0
	for _, st := range t.Steps[from:] {
		if st.Purpose == events.PurposeAnswer {
			n++
		}
	}
	return n
}

// goesAhead is what follows when an input of that mode comes in that does not
// just wait for its turn: where it is put and, if it comes for that, the end of
// the turn that runs.
//
// That a place is recorded also where it is the last one keeps releases away from
// the chat that would let the input wait.
func (s State) goesAhead(c Command, mode events.SendMode, at events.Time) []events.Event {
	_, running := s.Running()
	place, stops := placeFor(s.f.Waiting, mode), stopsTurns(mode)
	switch {
	case mode != events.ModeSteer && !stops:
		return nil
	case !running && (!stops || place > len(s.f.Waiting)):
		return nil // it starts a turn, with what waits in front of it
	}
	list := []events.Event{events.InputPromoted{Input: c.ID, Place: place, Interrupt: running && stops, By: c.By}}
	if stops {
		list = append(list, s.giveWay(mode, c, at)...)
	}
	if !running || !stops || s.Interrupting() {
		return list
	}
	reason := events.ReasonNewInput
	if mode == events.ModeRollback {
		reason = events.ReasonRolledBack
	}
	return append(list, s.stopTurn(reason, c.By, at)...)
}

func notWaiting(c Command) Decision {
	return rejected(c, events.CodeUnknownInput, "no input of this id waits", "")
}

// decidePromote lets an input be the next, at once if the turn that runs is to
// make room for it. A chat whose turn failed stays so: only the order changes.
func decidePromote(s State, b protocol.Promote, c Command, at events.Time) Decision {
	i := waitingAt(s.f.Waiting, b.Input)
	if i < 0 {
		return notWaiting(c)
	}
	running, open := s.Running()
	stop := b.Interrupt && open
	due := s.f.Sibling
	if due != nil && due.Input == b.Input { // it goes before all that waits
		return noted(c, running)
	}
	if i == 0 && (!stop || stopsTurns(s.f.Waiting[0].Mode) && s.Interrupting() && (due == nil || due.Joined)) {
		return noted(c, running)
	}
	d := facts(events.InputPromoted{Input: b.Input, Place: 1, Interrupt: stop, By: c.By})
	if stop {
		d.Events = append(d.Events, s.giveWay(s.f.Waiting[i].Mode, c, at)...)
	}
	if stop && !s.Interrupting() {
		d.Events = append(d.Events, s.stopTurn(events.ReasonNewInput, c.By, at)...)
	}
	return d
}

// decideEditInput gives a waiting input other content.
func decideEditInput(s State, b protocol.EditInput, c Command) Decision {
	if waitingAt(s.f.Waiting, b.Input) < 0 {
		return notWaiting(c)
	}
	parts, wrong := cleanInput(b.Parts)
	if wrong == "" {
		others := s
		others.f.Waiting = without(s.f.Waiting, []string{b.Input})
		wrong = others.wrongAttachments(c, parts)
	}
	if wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	return facts(events.InputEdited{Input: b.Input, Parts: parts, By: c.By})
}
