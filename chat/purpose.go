package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// lastAnswer is the newest step of the turn that answers, nil if there is none.
// No other can have calls.
func (t *turn) lastAnswer() *step {
	for _, st := range slices.Backward(t.Steps) {
		if st.Purpose == events.PurposeAnswer {
			return st
		}
	}
	return nil
}

// pending is the open turn and the step in it for which a model is asked, or will
// be; nil if there is none. No turn has two of them.
func (s State) pending() (*turn, *step) {
	t := s.f.Current
	if t == nil {
		return nil, nil
	}
	for _, st := range slices.Backward(t.Steps) {
		switch st.Phase {
		case phaseOpen, phaseWaiting, phaseCrashed:
			return t, st
		case phaseFailed, phaseTooLarge, phaseInterrupted, phaseCompleted, phaseDone:
		}
	}
	return t, nil
}

// step is the step of that id, if it is one of the open turn, or the one outside
// of any turn that is under way.
func (s State) step(id events.StepID) *step {
	if id.Turn == 0 {
		if st := s.f.Aside; st != nil && st.Number == id.Step {
			return st
		}
		return nil
	}
	t := s.f.Current
	if t == nil || t.Number != id.Turn || id.Step < 1 || id.Step > len(t.Steps) {
		return nil
	}
	return t.Steps[id.Step-1]
}

// spent adds what an attempt used to what the chat has spent, and to what the open
// turn has if it is one of its steps.
func (s *State) spent(id events.StepID, u events.Usage, costMicros *int64) {
	used := spending(u, costMicros)
	s.f.Spent = s.f.Spent.Plus(used)
	if id.Turn != 0 {
		s.f.Current.Usage = s.f.Current.Usage.Plus(u)
		s.f.Current.Spent = s.f.Current.Spent.Plus(used)
	}
}

// isPurpose reports whether this release knows what a step of that purpose is for.
func isPurpose(p events.Purpose) bool {
	switch p {
	case events.PurposeAnswer, events.PurposeSummary, events.PurposeReview, events.PurposeTitle:
		return true
	}
	return false
}

// PromptFor is what the model that is asked for a step gets to read.
func PromptFor(s State, id events.StepID) model.Request {
	if st := s.step(id); st != nil {
		return s.promptOf(st.Purpose, st.Model, st.Until, st.Call)
	}
	return Prompt(s)
}

// promptOf is what a model that is asked for a step of that purpose gets to read;
// for a summary, of what is shown up to until; for a review, about that call; for a
// title, if the model has that name, of the inputs of the turn that until names.
func (s State) promptOf(p events.Purpose, name string, until *events.Boundary, call *events.CallID) model.Request {
	switch p {
	case events.PurposeSummary:
		if until != nil {
			return s.summaryRequest(*until)
		}
	case events.PurposeReview:
		if call != nil {
			return s.reviewRequest(*call)
		}
	case events.PurposeTitle:
		if until != nil {
			return s.titleRequest(name, *until)
		}
	case events.PurposeAnswer:
	}
	return Prompt(s)
}

// promptDigest is the digest and the size of the canonical form of what a model is
// shown that a step asks.
func (s State) promptDigest(e events.StepRequested) (events.Digest, int64) {
	if e.Purpose == events.PurposeAnswer {
		return s.answerDigest()
	}
	b := s.promptOf(e.Purpose, e.Model, e.Until, e.Call).Canonical()
	return events.DigestOf(b), int64(len(b))
}

// newStep asks for a step that the open turn has not had yet, or, while no turn is
// open, for one outside of any turn.
func (s State) newStep(p events.Purpose) events.StepRequested {
	return s.stepRequested(events.StepRequested{Step: s.newID(), Purpose: p, Attempt: 1})
}

func (s State) newID() events.StepID {
	if t := s.f.Current; t != nil {
		return events.StepID{Turn: t.Number, Step: len(t.Steps) + 1}
	}
	return events.StepID{Step: s.f.Asides + 1}
}

// nextAttempt asks for a step once more.
func (s State) nextAttempt(turn int, st *step) events.StepRequested {
	return s.stepRequested(events.StepRequested{
		Step: events.StepID{Turn: turn, Step: st.Number}, Purpose: st.Purpose, Attempt: st.Attempt + 1,
		Until: st.Until, Call: st.Call, Due: st.Due,
	})
}

// stepRequested is the request with who is to be asked, and what.
func (s State) stepRequested(e events.StepRequested) events.StepRequested {
	settings := s.effective(s.tip())
	e.Model, e.Pool = settings.Model, settings.Pool
	switch e.Purpose {
	case events.PurposeReview:
		e.Model, e.Pool = settings.Reviewer, settings.ReviewerPool
	case events.PurposeTitle:
		e.Model, e.Pool = s.titler(e.Step)
	case events.PurposeAnswer, events.PurposeSummary:
	}
	e.Prompt, e.Bytes = s.promptDigest(e)
	return e
}
