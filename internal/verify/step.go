package verify

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

type phase int

const (
	stepOpen phase = iota // an attempt is under way
	stepCompleted
	stepFailed
	stepInterrupted
)

// step is the newest step of the open turn: the only one in which anything can
// be open.
type step struct {
	id        events.StepID
	purpose   events.Purpose
	phase     phase
	attempt   int
	requested Place // of the attempt
	closed    Place // of the attempt

	class   events.ErrorClass // of the failure
	retryAt events.Time

	interrupted int // attempts whose stream broke off

	stop     events.Stop
	calls    []*call
	reported bool // as going nowhere
}

func (s *step) openCalls() []*call {
	var open []*call
	for _, c := range s.calls {
		if !c.result.known() {
			open = append(open, c)
		}
	}
	return open
}

func (h *history) stepRequested(e events.StepRequested) {
	if !h.belongs(e.Step.Turn, e) {
		return
	}
	h.starts(describe(e.Step, "step"))
	t := h.turn
	t.attempts++
	if e.Purpose != events.PurposeAnswer {
		h.breaks(RuleSteps, t.start, "step %s has the purpose %q", e.Step, e.Purpose)
	}
	if s := t.settings; s != nil && (e.Model != s.Model || e.Pool != s.Pool) {
		h.breaks(RuleSteps, t.start, "step %s asks model %q of pool %q, the turn runs with %q of %q", e.Step, e.Model, e.Pool, s.Model, s.Pool)
	}
	last := t.step
	switch {
	case last != nil && e.Step.Step == last.id.Step:
		h.nextAttempt(last, e)
	default:
		h.nextStep(last, e)
		t.step = &step{id: e.Step, purpose: e.Purpose, attempt: e.Attempt, requested: h.here}
	}
}

// nextStep judges I6: a step is asked for when everything before it is settled.
func (h *history) nextStep(last *step, e events.StepRequested) {
	number := 0
	if last != nil {
		number = last.id.Step
		switch {
		case last.phase == stepOpen:
			h.breaks(RuleSteps, last.requested, "step %s is requested while step %s is open", e.Step, last.id)
		case last.phase != stepCompleted:
			h.breaks(RuleSteps, last.closed, "step %s is requested, and step %s has no answer", e.Step, last.id)
		case h.turn.final.known():
			h.breaks(RuleOutcomes, h.turn.final, "step %s is requested after the final answer", e.Step)
		case h.turn.stopAfter.known():
			h.breaks(RuleOutcomes, h.turn.stopAfter, "step %s is requested after a tool that ends its turn", e.Step)
		case last.stop == events.StopRefused, last.stop == events.StopLength && len(last.calls) == 0:
			h.breaks(RuleOutcomes, last.closed, "step %s is requested though step %s ended %s", e.Step, last.id, last.stop)
		}
		for _, open := range last.openCalls() {
			h.breaks(RuleSteps, last.closed, "step %s is requested while %s has no result", e.Step, describe(open.id, "call"))
		}
	}
	if e.Step.Step != number+1 {
		h.breaks(RuleSteps, h.turn.start, "step %s is requested after step %d.%d", e.Step, e.Step.Turn, number)
	}
	if e.Attempt != 1 {
		h.breaks(RuleAttempts, Place{}, "step %s begins with attempt %d", e.Step, e.Attempt)
	}
	if limit := h.turn.limit(); e.Step.Step > limit {
		h.breaks(RuleBounds, h.turn.start, "step %s is over the turn's limit of %d", e.Step, limit)
	}
}

// nextAttempt judges I5: an attempt follows only a failure that asks for one.
func (h *history) nextAttempt(s *step, e events.StepRequested) {
	switch {
	case s.phase == stepOpen:
		h.breaks(RuleAttempts, s.requested, "attempt %d of step %s begins while attempt %d is open", e.Attempt, e.Step, s.attempt)
	case s.phase != stepFailed:
		h.breaks(RuleAttempts, s.closed, "attempt %d of step %s begins after the step has ended", e.Attempt, e.Step)
	case s.retryAt == 0 && s.class == events.ClassCrashed:
		if s.closed != h.here {
			h.breaks(RuleAttempts, s.closed, "attempt %d of step %s does not follow the crash at once", e.Attempt, e.Step)
		}
	case s.retryAt == 0:
		h.breaks(RuleAttempts, s.closed, "attempt %d of step %s begins after a failure for good", e.Attempt, e.Step)
	default:
		timer := protocol.TimerName{Kind: protocol.TimerRetry, Step: s.id, Attempt: s.attempt}.String()
		if h.cause.Kind != events.CausedByTimer || h.cause.ID != timer {
			h.breaks(RuleAttempts, s.closed, "attempt %d of step %s begins without its timer %s", e.Attempt, e.Step, timer)
		}
	}
	if e.Attempt != s.attempt+1 {
		h.breaks(RuleAttempts, s.requested, "attempt %d of step %s begins after attempt %d", e.Attempt, e.Step, s.attempt)
	}
	if e.Purpose != s.purpose {
		h.breaks(RuleSteps, s.requested, "attempt %d of step %s is for %s, the step for %s", e.Attempt, e.Step, e.Purpose, s.purpose)
	}
	s.phase, s.attempt, s.requested, s.calls = stepOpen, e.Attempt, h.here, nil
}

// closesAttempt reports whether the event closes the open attempt, and judges I5.
func (h *history) closesAttempt(id events.StepID, attempt int, e events.Event) (*step, bool) {
	if !h.belongs(id.Turn, e) {
		return nil, false
	}
	s := h.turn.step
	switch {
	case s == nil || s.id != id:
		h.breaks(RuleAttempts, h.turn.start, "%s of step %s, which was not requested last", e.EventType(), id)
		return nil, false
	case s.phase != stepOpen:
		h.breaks(RuleAttempts, s.closed, "%s of step %s, which has no open attempt", e.EventType(), id)
		return nil, false
	case s.attempt != attempt:
		h.breaks(RuleAttempts, s.requested, "%s of attempt %d of step %s, and attempt %d is open", e.EventType(), attempt, id, s.attempt)
		return nil, false
	}
	s.closed = h.here
	return s, true
}

func (h *history) stepCompleted(e events.StepCompleted) {
	s, ok := h.closesAttempt(e.Step, e.Attempt, e)
	if !ok {
		return
	}
	s.phase, s.stop = stepCompleted, e.Stop
	h.callsOf(s, e.Parts)
	h.turn.calls += len(s.calls)
	h.turn.usage = h.turn.usage.Plus(e.Usage)
	if s.purpose != events.PurposeAnswer || !isFinal(e.Stop) || len(s.calls) > 0 {
		return
	}
	if h.turn.final.known() {
		h.breaks(RuleOutcomes, h.turn.final, "step %s is a second final answer", e.Step)
	}
	h.turn.final = h.here
}

// isFinal reports whether an answer without calls says all the model has to say.
func isFinal(s events.Stop) bool {
	return s != events.StopPaused && s != events.StopLength && s != events.StopRefused
}

func (h *history) stepFailed(e events.StepFailed) {
	s, ok := h.closesAttempt(e.Step, e.Attempt, e)
	if !ok {
		return
	}
	s.phase, s.class, s.retryAt = stepFailed, e.Class, e.RetryAt
	h.turn.usage = h.turn.usage.Plus(e.Usage)
	if e.Class.Interrupted() {
		s.interrupted++
	}
	if e.RetryAt == 0 {
		return
	}
	if !e.Class.Retryable() {
		h.breaks(RuleAttempts, Place{}, "attempt %d of step %s failed with %s and is to be tried again", e.Attempt, e.Step, e.Class)
	}
	h.delay(s, e)
}

func (h *history) stepInterrupted(e events.StepInterrupted) {
	s, ok := h.closesAttempt(e.Step, e.Attempt, e)
	if !ok {
		return
	}
	s.phase = stepInterrupted
	h.turn.usage = h.turn.usage.Plus(e.Usage)
	if !h.turn.interrupt.known() && !h.closing {
		h.breaks(RuleInterrupts, Place{}, "step %s is interrupted, and nobody asked for it", e.Step)
	}
	for _, p := range e.Parts {
		if p.Type == events.PartCall {
			h.breaks(RuleCalls, Place{}, "interrupted step %s keeps a call", e.Step)
		}
	}
}
