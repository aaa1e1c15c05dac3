package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

type waitingInput struct {
	id   string
	mode events.SendMode
	at   Place

	rolls  int // the turn that it came to take back, 0 if none
	parent int // of that turn

	reported bool // as waiting for nobody
}

func stopsTurns(m events.SendMode) bool {
	return m == events.ModeInterrupt || m == events.ModeRollback
}

func (h *history) inputAccepted(e events.InputAccepted) {
	if !h.named(e.Input) {
		h.breaks(RuleInputs, Place{}, "input %s is not named after what brought it, %s %s", e.Input, h.cause.Kind, h.cause.ID)
	}
	if at, ok := h.settled.get(e.Input); ok {
		h.breaks(RuleInputs, at, "input %s was accepted and settled before", e.Input)
	}
	if i := h.findWaiting(e.Input); i >= 0 {
		h.breaks(RuleInputs, h.waiting[i].at, "input %s was accepted before", e.Input)
		return
	}
	if e.Settings != nil {
		h.modes.also(e.Settings.Approval)
	}
	in := waitingInput{id: e.Input, mode: e.Mode, at: h.here}
	if h.turn != nil && e.Mode == events.ModeRollback && h.tree.tip == h.turn.number {
		in.rolls, in.parent = h.turn.number, h.turn.parent
	}
	h.wanted = h.wanted || h.turn == nil && h.cause.Verb == string(protocol.VerbSend)
	h.waiting = append(h.waiting, in)
	if h.turn != nil && stopsTurns(e.Mode) {
		h.turn.stopper, h.tree.stopper = e.Input, e.Input
	}
	// One more may be on its way into the turn that starts in the same commit.
	if limit := events.MaxWaitingInputs; len(h.waiting) > limit+1 || h.turn != nil && len(h.waiting) > limit {
		h.breaks(RuleBounds, Place{}, "%d inputs wait, at most %d may", len(h.waiting), limit)
	}
}

func (h *history) inputWithdrawn(e events.InputWithdrawn) { h.settle(e.Input, "withdrawn") }

func (h *history) inputEdited(e events.InputEdited) {
	if h.findWaiting(e.Input) < 0 {
		at, _ := h.settled.get(e.Input)
		h.breaks(RuleInputs, at, "input %s is edited, but does not wait", e.Input)
	}
}

// inputPromoted judges where an input goes. One that comes in goes behind those
// of its mode; a person may put any in front of all.
func (h *history) inputPromoted(e events.InputPromoted) {
	i := h.findWaiting(e.Input)
	if i < 0 {
		at, _ := h.settled.get(e.Input)
		h.breaks(RuleInputs, at, "input %s is promoted, but does not wait", e.Input)
		return
	}
	if e.Place < 1 || e.Place > len(h.waiting) {
		h.breaks(RuleInputs, h.waiting[i].at, "input %s is number %d of %d that wait", e.Input, e.Place, len(h.waiting))
		return
	}
	in := h.waiting[i]
	rest := slices.Delete(slices.Clone(h.waiting), i, i+1)
	if h.cause.Verb == string(protocol.VerbPromote) {
		if e.Place != 1 {
			h.breaks(RuleInputs, in.at, "input %s is promoted to number %d, not to the first", e.Input, e.Place)
		}
	} else if j := slices.IndexFunc(rest[e.Place-1:], func(o waitingInput) bool { return o.mode == in.mode }); j >= 0 {
		h.breaks(RuleInputs, rest[e.Place-1+j].at, "input %s overtakes input %s", e.Input, rest[e.Place-1+j].id)
	}
	if e.Interrupt {
		if h.turn == nil {
			h.breaks(RuleInterrupts, in.at, "input %s is to stop a turn, and none runs", e.Input)
		} else {
			h.turn.stopper, h.tree.stopper = e.Input, e.Input
		}
		if in.mode != events.ModeRollback {
			in.mode = events.ModeInterrupt
		}
	}
	h.waiting = slices.Insert(rest, e.Place-1, in)
}

// inputSteered judges what a turn takes while it runs: all that is meant for it,
// where a step is about to begin.
func (h *history) inputSteered(e events.InputSteered) {
	if !h.belongs(e.Step.Turn, e) {
		return
	}
	h.starts(describe(e.Step, "step"))
	t := h.turn
	next := t.steps + 1
	if open := t.open(); open != nil {
		h.breaks(RuleInputs, open.requested, "step %s takes inputs before step %s is settled", e.Step, open.id)
	}
	if last := t.step; last != nil {
		if last.phase != stepCompleted && !last.filtered() || len(last.openCalls()) > 0 {
			h.breaks(RuleInputs, last.requested, "step %s takes inputs before step %s is settled", e.Step, last.id)
		}
	} else if t.cause == events.CauseRetry {
		h.breaks(RuleInputs, t.start, "step %s takes inputs, and is to ask what was asked before", e.Step)
	}
	if e.Step.Step != next {
		h.breaks(RuleInputs, t.start, "step %s takes inputs where step %d.%d is the next", e.Step, t.number, next)
	}
	if len(e.Inputs) == 0 {
		h.breaks(RuleInputs, t.start, "step %s takes inputs, and none is named", e.Step)
	}
	for _, id := range e.Inputs {
		if i := h.findWaiting(id); i >= 0 && h.waiting[i].mode != events.ModeSteer {
			h.breaks(RuleInputs, h.waiting[i].at, "input %s of mode %s is taken by a turn that runs", id, h.waiting[i].mode)
		}
	}
	h.take(e.Inputs, nil)
	h.tree.steer(e.Step.Turn, e.Inputs)
	t.steered, t.before = next, t.answers
	t.final, t.stopAfter = Place{}, Place{} // it was not the end
}

// reads judges that nothing meant for the turn waits where it goes on or ends.
func (h *history) reads(what string) {
	for i := range h.waiting {
		if in := &h.waiting[i]; in.mode == events.ModeSteer && !in.reported {
			in.reported = true
			h.breaks(RuleInputs, in.at, "%s over input %s, which it should read", what, in.id)
		}
	}
}

// steeredBehind judges that the step which inputs were taken for is asked for.
func (h *history) steeredBehind() {
	if t := h.turn; t.steered > t.steps {
		h.breaks(RuleInputs, t.start, "inputs are taken for step %d.%d, which is not requested", t.number, t.steered)
		t.steered = 0
	}
}

// settle takes an input out of those that wait.
func (h *history) settle(id, how string) {
	i := h.findWaiting(id)
	if i < 0 {
		at, _ := h.settled.get(id)
		h.breaks(RuleInputs, at, "input %s is %s, but does not wait", id, how)
		return
	}
	h.waiting = slices.Delete(h.waiting, i, i+1)
	h.settled.put(id, h.here)
}

// begins judges what a turn begins with: the first that waits, and those right
// behind it that were sent like it.
func (h *history) begins(e events.TurnStarted) {
	if len(e.Inputs) == 0 || len(h.waiting) == 0 {
		return
	}
	first := h.waiting[0]
	if e.Inputs[0] != first.id {
		h.breaks(RuleInputs, first.at, "turn %d begins with input %s, and input %s is the first that waits", e.Turn, e.Inputs[0], first.id)
		return
	}
	alike := true
	for _, in := range h.waiting {
		alike = alike && in.mode == first.mode
		if taken := slices.Contains(e.Inputs, in.id); taken != alike {
			h.breaks(RuleInputs, in.at, "turn %d begins with input %s of mode %s, and input %s of mode %s behind it: taken is %t",
				e.Turn, first.id, first.mode, in.id, in.mode, taken)
		}
	}
}

// take settles the inputs that a turn begins with. Within a mode none overtakes
// another. Those of a turn that is answered again were settled with that one.
func (h *history) take(ids, again []string) {
	for _, id := range ids {
		if slices.Contains(again, id) {
			continue
		}
		i := h.findWaiting(id)
		if due := h.tree.due; i >= 0 && (due == nil || due.Input != id) { // what is due goes first
			earlier := slices.IndexFunc(h.waiting[:i], func(in waitingInput) bool { return in.mode == h.waiting[i].mode })
			if earlier >= 0 {
				h.breaks(RuleInputs, h.waiting[earlier].at, "input %s overtakes input %s", id, h.waiting[earlier].id)
			}
		}
		h.settle(id, "taken")
	}
}

func (h *history) findWaiting(id string) int {
	return slices.IndexFunc(h.waiting, func(in waitingInput) bool { return in.id == id })
}
