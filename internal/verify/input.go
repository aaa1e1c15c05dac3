package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
)

type waitingInput struct {
	id   string
	mode events.SendMode
	at   Place

	reported bool // as waiting for nobody
}

func (h *history) inputAccepted(e events.InputAccepted) {
	if h.cause.Kind != events.CausedByCommand || h.cause.ID != e.Input {
		h.breaks(RuleInputs, Place{}, "input %s is not named after the command that brought it, %s", e.Input, h.cause.ID)
	}
	if at, ok := h.settled.get(e.Input); ok {
		h.breaks(RuleInputs, at, "input %s was accepted and settled before", e.Input)
	}
	if i := h.findWaiting(e.Input); i >= 0 {
		h.breaks(RuleInputs, h.waiting[i].at, "input %s was accepted before", e.Input)
		return
	}
	h.waiting = append(h.waiting, waitingInput{id: e.Input, mode: e.Mode, at: h.here})
	// One more may be on its way into the turn that starts in the same commit.
	if limit := events.MaxWaitingInputs; len(h.waiting) > limit+1 || h.turn != nil && len(h.waiting) > limit {
		h.breaks(RuleBounds, Place{}, "%d inputs wait, at most %d may", len(h.waiting), limit)
	}
}

func (h *history) inputWithdrawn(e events.InputWithdrawn) { h.settle(e.Input, "withdrawn") }

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

// take settles the inputs that a turn begins with. Within a mode none overtakes
// another.
func (h *history) take(ids []string) {
	for _, id := range ids {
		i := h.findWaiting(id)
		if i >= 0 {
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
