package verify

import "github.com/everturn/everturn/events"

// isPurpose reports whether a step can be there for that.
func isPurpose(p events.Purpose) bool {
	switch p {
	case events.PurposeAnswer, events.PurposeSummary, events.PurposeReview, events.PurposeTitle:
		return true
	}
	return false
}

// stepOf is the newest answer, or the newest step of another purpose, if it has
// that id: nothing happens to any other step of a turn.
func (t *turn) stepOf(id events.StepID) *step {
	for _, s := range []*step{t.step, t.other} {
		if s != nil && s.id == id {
			return s
		}
	}
	return nil
}

// open is the step whose attempt is under way, nil if none is.
func (t *turn) open() *step {
	for _, s := range []*step{t.step, t.other} {
		if s != nil && s.phase == stepOpen {
			return s
		}
	}
	return nil
}

// asks reports whether a step that does not answer is under way, between two
// attempts, too.
func (s *step) asks() bool {
	return s != nil && (s.phase == stepOpen || s.phase == stepFailed && s.retryAt != 0)
}

// failedForGood is the step that the turn cannot go on without, nil if there is none.
func (t *turn) failedForGood() *step {
	for _, s := range []*step{t.other, t.step} {
		if s != nil && s.call == nil && s.phase == stepFailed && s.retryAt == 0 && !s.afterCompaction {
			return s
		}
	}
	return nil
}

// goesOnBehind reports whether a failed step was an answer, and the turn took
// inputs behind it.
func (t *turn) goesOnBehind(s *step) bool { return s.filtered() && t.steered > s.id.Step }

// asideRequested judges a step outside of any turn: they are numbered through the
// whole chat, and one is under way at a time.
func (h *history) asideRequested(e events.StepRequested) {
	s := h.aside
	if e.Purpose == events.PurposeAnswer {
		h.breaks(RuleSteps, Place{}, "step %s answers, and belongs to no turn", e.Step)
	}
	if h.nothingLeft() {
		h.breaks(RuleBounds, Place{}, "step %s is requested, and of the budget %+v the chat has spent %+v", e.Step, h.budget.limit, h.budget.spent)
	}
	if s != nil && s.id == e.Step {
		h.nextAttempt(s, e)
		return
	}
	if s.asks() {
		h.breaks(RuleSteps, s.requested, "step %s is requested while step %s is under way", e.Step, s.id)
	}
	if e.Step.Step != h.asides+1 {
		h.breaks(RuleSteps, Place{}, "step %s is requested after step 0.%d", e.Step, h.asides)
	}
	if e.Attempt != 1 {
		h.breaks(RuleAttempts, Place{}, "step %s begins with attempt %d", e.Step, e.Attempt)
	}
	h.asides = e.Step.Step
	h.aside = &step{id: e.Step, purpose: e.Purpose, attempt: e.Attempt, requested: h.here, until: e.Until}
}
