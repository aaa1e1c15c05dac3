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
	action   Place // where the client was asked
	reported bool  // as going nowhere

	until           *events.Boundary // what a summary is about
	call            *events.CallID   // what a review is about
	said            string           // the text of a review, or of a title
	done            bool             // what came of a summary was said
	afterCompaction bool             // the failure is followed by another attempt then
	compactions     int              // of the turn, when it failed
}

// filtered reports whether a filter refused the answer, which is one.
func (s *step) filtered() bool {
	return s.phase == stepFailed && s.class == events.ClassContentFilter
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
	if !isPurpose(e.Purpose) {
		h.breaks(RuleSteps, Place{}, "step %s has the purpose %q", e.Step, e.Purpose)
	}
	if e.Purpose == events.PurposeSummary {
		h.summaryRequested(e)
	}
	if e.Call != nil {
		h.reviewRequested(e)
	}
	if e.Purpose == events.PurposeTitle {
		h.titleStep(e)
	}
	if e.Step.Turn == 0 {
		h.asideRequested(e)
		return
	}
	if !h.belongs(e.Step.Turn, e) {
		return
	}
	h.starts(describe(e.Step, "step"))
	h.affords(e)
	t := h.turn
	t.attempts++
	if s := t.settings; s != nil && e.Purpose == events.PurposeAnswer && (e.Model != s.Model || e.Pool != s.Pool) {
		h.breaks(RuleSteps, t.start, "step %s asks model %q of pool %q, the turn runs with %q of %q", e.Step, e.Model, e.Pool, s.Model, s.Pool)
	}
	if t.settings != nil && t.settings.NoAgent {
		h.breaks(RuleSteps, t.start, "step %s is requested without the agent %q, whom there was not", e.Step, t.settings.Agent)
	}
	if again := t.stepOf(e.Step); again != nil {
		h.nextAttempt(again, e)
		return
	}
	if open := t.open(); open != nil {
		h.breaks(RuleSteps, open.requested, "step %s is requested while step %s is open", e.Step, open.id)
	}
	if e.Step.Step != t.steps+1 {
		h.breaks(RuleSteps, h.turn.start, "step %s is requested after step %d.%d", e.Step, e.Step.Turn, t.steps)
	}
	if e.Attempt != 1 {
		h.breaks(RuleAttempts, Place{}, "step %s begins with attempt %d", e.Step, e.Attempt)
	}
	s := &step{id: e.Step, purpose: e.Purpose, attempt: e.Attempt, requested: h.here, until: e.Until, call: e.Call}
	t.steps = e.Step.Step
	if e.Purpose != events.PurposeAnswer {
		t.other = s
		return
	}
	h.nextStep(t.step, e)
	t.answers++
	t.step = s
}

// nextStep judges I6: an answer is asked for when everything before it is settled.
func (h *history) nextStep(last *step, e events.StepRequested) {
	if last != nil || h.turn.cause != events.CauseRetry { // that one asks the same again
		h.reads(describe(e.Step, "step") + " is requested")
	}
	if last != nil {
		switch {
		case last.phase == stepOpen: // said already
		case h.turn.steered > last.id.Step && (last.filtered() || last.phase == stepCompleted): // a person has spoken since
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
	if limit := h.turn.limit(); h.turn.answers-h.turn.before >= limit {
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
		if s.closed != h.here && (h.turn == nil || h.turn.extended != h.here) {
			h.breaks(RuleAttempts, s.closed, "attempt %d of step %s does not follow the crash at once", e.Attempt, e.Step)
		}
	case s.afterCompaction:
		if h.turn == nil || h.turn.compactions == s.compactions {
			h.breaks(RuleAttempts, s.closed, "attempt %d of step %s begins, and the context was not compacted", e.Attempt, e.Step)
		}
	case s.retryAt == 0:
		h.breaks(RuleAttempts, s.closed, "attempt %d of step %s begins after a failure for good", e.Attempt, e.Step)
	default:
		name := protocol.TimerName{Kind: protocol.TimerRetry, Step: s.id, Attempt: s.attempt}
		if s.id.Turn != 0 {
			name.Number = h.turn.extensions // each sets another one
		}
		timer := name.String()
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
	s.afterCompaction = false
	s.phase, s.attempt, s.requested, s.calls = stepOpen, e.Attempt, h.here, nil
}

// closesAttempt reports whether the event closes the open attempt, and judges I5.
func (h *history) closesAttempt(id events.StepID, attempt int, e events.Event) (*step, bool) {
	var s *step
	var since Place
	if id.Turn == 0 {
		if s = h.aside; s != nil && s.id != id {
			s = nil
		}
	} else {
		if !h.belongs(id.Turn, e) {
			return nil, false
		}
		s, since = h.turn.stepOf(id), h.turn.start
	}
	switch {
	case s == nil:
		h.breaks(RuleAttempts, since, "%s of step %s, which was not requested last", e.EventType(), id)
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
	h.pays(e.Step, e.Usage, e.CostMicros)
	h.callsOf(s, e.Parts)
	if s.purpose != events.PurposeAnswer {
		if len(s.calls) > 0 {
			h.breaks(RuleCalls, Place{}, "step %s is there for %s, and calls tools", s.id, s.purpose)
			s.calls = nil
		}
		s.said = verdictOf(e.Parts)
		return
	}
	h.turn.calls += len(s.calls)
	if h.birth.at.known() && e.Step.Turn == 1 {
		h.said = sayingOf(e.Parts)
	}
	h.compacted, h.leftOut = Place{}, Place{}
	h.tree.answer(e.Step)
	if !isFinal(e.Stop) || len(s.calls) > 0 {
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
	h.pays(e.Step, e.Usage, e.CostMicros)
	if s.purpose == events.PurposeTitle {
		h.titleFailed(e)
	}
	if e.Class.Interrupted() {
		s.interrupted++
	}
	if s.afterCompaction = e.AfterCompaction; s.afterCompaction {
		if e.Class != events.ClassContextTooLarge || s.purpose != events.PurposeAnswer || e.RetryAt != 0 {
			h.breaks(RuleAttempts, Place{}, "attempt %d of step %s failed with %s and is to be tried again after a compaction", e.Attempt, e.Step, e.Class)
		}
		if h.turn != nil {
			s.compactions = h.turn.compactions
		}
	}
	if e.RetryAt == 0 {
		return
	}
	if s.call != nil {
		h.breaks(RuleAttempts, Place{}, "the review of call %s failed and is to be tried again", s.call)
	}
	if s.purpose == events.PurposeTitle {
		h.breaks(RuleAttempts, Place{}, "step %s brought no title and is to be tried again", s.id)
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
	h.pays(e.Step, e.Usage, e.CostMicros)
	asked := h.cause.Kind == events.CausedByCommand || h.nothingLeft() // and this alone, outside of a turn
	if e.Step.Turn != 0 {
		asked = h.turn.interrupt.known() || h.needless(s) && len(e.Parts) == 0
		s.done = true
	}
	if !asked && !h.closing {
		h.breaks(RuleInterrupts, Place{}, "step %s is interrupted, and nobody asked for it", e.Step)
	}
	for _, p := range e.Parts {
		if p.Type == events.PartCall {
			h.breaks(RuleCalls, Place{}, "interrupted step %s keeps a call", e.Step)
		}
	}
}
