package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
)

// unsound says what in a state that came from outside the rest of this package
// could not work with, or nothing. What was folded from a log has nothing of it.
func (f *fields) unsound() string {
	switch {
	case len(f.Commands) > ringCommands || slices.Contains(f.Commands, nil):
		return "its commands are not as they are remembered"
	case unsoundTraces(f.Forgotten):
		return "the traces of its commands are not as they are kept"
	case len(f.Allowed) > events.MaxRemembered:
		return "it remembers more approvals than are kept"
	case len(f.Bodies) > ringSettings:
		return "it has more settings than are remembered"
	case unsoundArtifacts(f.Artifacts):
		return "its artifacts are not as they are kept"
	case !f.Naming.known():
		return "its title has come further than is known"
	case f.Erasure != nil && !f.Erasure.Phase.known():
		return "its erasure is in a phase that is not known"
	case f.Erasure != nil && f.Erasure.Phase != eraseRequested && (f.Current != nil || len(f.Past) > 0 || len(f.Waiting) > 0):
		return "it is erased, and has content"
	}
	if f.Asides < 0 || f.Asides > maxNumber/2 {
		return "it has had a number of steps outside of turns that cannot be"
	}
	if st := f.Aside; st != nil {
		if wrong := st.unsound(); wrong != "" || st.Number != f.Asides || st.Purpose == events.PurposeAnswer {
			return "its step outside of any turn cannot be " + wrong
		}
	}
	if slices.Contains(f.Boundaries, nil) {
		return "its boundaries are not as they are remembered"
	}
	last := 0
	for _, t := range f.Past {
		if wrong := t.unsound(last); wrong != "" {
			return wrong
		}
		if t.Ended == "" {
			return fmt.Sprintf("turn %d is past and has not ended", t.Number)
		}
		last = t.Number
	}
	if t := f.Current; t != nil {
		if wrong := t.unsound(last); wrong != "" {
			return wrong
		}
		if t.Ended != "" {
			return fmt.Sprintf("turn %d is open and has ended", t.Number)
		}
	}
	return f.unsoundTree()
}

// unsoundTree says which turn follows one that there is not.
func (f *fields) unsoundTree() string {
	missing := func(number int) bool { return number != 0 && pastTurn(f.Past, number) == nil }
	for _, t := range f.Past {
		if missing(t.Parent) {
			return fmt.Sprintf("turn %d follows turn %d, which is missing", t.Number, t.Parent)
		}
	}
	t := f.Current
	switch {
	case t != nil && missing(t.Parent):
		return fmt.Sprintf("turn %d follows turn %d, which is missing", t.Number, t.Parent)
	case missing(f.Tip) && (t == nil || t.Number != f.Tip):
		return fmt.Sprintf("its tip is turn %d, which is missing", f.Tip)
	}
	return f.unsoundSibling()
}

// unsound judges a turn that follows the turn of that number.
func (t *turn) unsound(last int) string {
	if t == nil {
		return "a turn is missing"
	}
	if t.Number <= last || t.Number > maxNumber/2 || t.Parent < 0 || t.Parent >= t.Number {
		return fmt.Sprintf("turn %d comes after turn %d and follows turn %d", t.Number, last, t.Parent)
	}
	switch t.Ended {
	case "", endedCompleted, endedFailed, endedInterrupted:
	default:
		return fmt.Sprintf("turn %d has ended in a way that is not known", t.Number)
	}
	if a := t.Allowance; a.Extended < 0 || a.Extended > maxNumber/2 {
		return fmt.Sprintf("turn %d was extended a number of times that cannot be", t.Number)
	}
	for i, st := range t.Steps {
		if st == nil || st.Number != i+1 {
			return fmt.Sprintf("turn %d has another step than %d where that should be", t.Number, i+1)
		}
		if wrong := st.unsound(); wrong != "" {
			return fmt.Sprintf("step %d.%d %s", t.Number, st.Number, wrong)
		}
	}
	return ""
}

func (st *step) unsound() string {
	if st.Attempt < 1 || st.Attempt > maxNumber/2 || st.Quick < 0 || st.Quick > maxNumber/2 {
		return "has an attempt that cannot be"
	}
	if st.Purpose == events.PurposeSummary && st.Until == nil {
		return "is to sum up nothing"
	}
	if !isPurpose(st.Purpose) {
		return "is for nothing that is known"
	}
	switch st.Phase {
	case phaseOpen, phaseWaiting, phaseCrashed, phaseFailed, phaseTooLarge, phaseInterrupted:
		if len(st.Calls) > 0 {
			return "has calls before it is completed"
		}
		return ""
	case phaseCompleted, phaseDone:
	default:
		return "is in a phase that is not known"
	}
	if misnumbered(st.Parts) != "" || callsIn(st.Parts) != len(st.Calls) {
		return "has other calls than its answer"
	}
	if st.Purpose != events.PurposeAnswer && len(st.Calls) > 0 || st.Purpose == events.PurposeAnswer && st.Phase == phaseDone {
		return "is done, or calls tools, and is not for that"
	}
	for i := range st.Calls {
		if c := &st.Calls[i]; c.Ordinal != i+1 || c.open() && !c.runnable() {
			return fmt.Sprintf("has a call %d that cannot be", i+1)
		}
		if q := st.Calls[i].Question; q != nil && (unanswerable(q.Questions) != "" || q.Timers < 1 || q.Timers > maxNumber/2) {
			return fmt.Sprintf("has a call %d with a question that cannot be", i+1)
		}
		if st.Calls[i].unsoundHeard() {
			return fmt.Sprintf("has a call %d that cannot have heard that", i+1)
		}
	}
	return ""
}
