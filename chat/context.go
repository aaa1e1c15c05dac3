package chat

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// boundary is where what models are shown begins, behind what it names. One that
// has no summary was made by clearing. With calls it only leaves their outputs out,
// and what is shown begins where it did.
type boundary struct {
	events.Boundary

	Summary []events.Part   `json:"summary,omitempty"`
	Masked  []events.CallID `json:"masked,omitempty"`
}

// measured is what the newest answer's call took, as its provider counted it. It
// says nothing once something else is shown before that answer.
type measured struct {
	Step   events.StepID `json:"step"`
	Tokens int64         `json:"tokens"` // 0: nothing was counted
}

// boundary is the one behind which what is shown of the path begins, nil if there is
// none. On one branch the newest is that; but each counts for every path that has its
// turn, so one that another branch has made since, nearer to the root, brings back
// nothing that is behind a later one here.
func (s State) boundary() *boundary {
	var begin *boundary
	for _, b := range s.f.Boundaries {
		if len(b.Masked) == 0 && s.onPath(b.Turn) && (begin == nil || !b.isBefore(begin)) {
			begin = b
		}
	}
	return begin
}

func (b *boundary) isBefore(other *boundary) bool {
	return b.Turn < other.Turn || b.Turn == other.Turn && b.Step < other.Step
}

// undoable is what was last done about what models are shown on the path, nil if
// nothing was: what is shown begins there, or outputs were left out since. Those are
// left out of every path that has the call: a path with a later one of those calls
// has the first, too.
func (s State) undoable() *boundary {
	begin := s.boundary()
	for _, b := range slices.Backward(s.f.Boundaries) {
		if b == begin || len(b.Masked) > 0 && s.onPath(b.Masked[0].Turn) {
			return b
		}
	}
	return nil
}

func (s State) onPath(turn int) bool {
	return s.f.Current != nil && s.f.Current.Number == turn || pastTurn(s.path, turn) != nil
}

// scope is what of a path is shown to a model.
type scope struct {
	begin *boundary // nil: it begins at the root
	rest  *turn     // of which only what is behind begin is shown
	turns []*turn   // ended turns that are shown whole
	open  *turn     // the open turn, if it is shown whole

	skills []activeSkill // that hold, and came before begin
}

func (s State) scope() scope {
	v := scope{begin: s.boundary(), turns: s.path, open: s.f.Current}
	if v.begin == nil {
		return v
	}
	v.skills = s.keptSkills(v.begin)
	if t := s.f.Current; t != nil && t.Number == v.begin.Turn {
		v.rest, v.turns, v.open = t, nil, nil
		return v
	}
	i := slices.IndexFunc(s.path, func(t *turn) bool { return t.Number == v.begin.Turn })
	v.rest, v.turns = s.path[i], s.path[i+1:]
	return v
}

// backward gives the turns of which something is shown, the newest first, each
// with the step behind which it is.
func (v scope) backward(yield func(t *turn, after int) bool) {
	if v.open != nil && !yield(v.open, wholeTurn) {
		return
	}
	for _, t := range slices.Backward(v.turns) {
		if !yield(t, wholeTurn) {
			return
		}
	}
	if v.rest != nil {
		yield(v.rest, v.begin.Step)
	}
}

// restEnded reports whether what is left of a turn cannot grow any more.
func (v scope) restEnded() bool { return v.rest != nil && v.rest.Ended != "" }

// opening is what stands before the turns that are shown whole.
func (v scope) opening(c *view) {
	if v.begin == nil {
		return
	}
	if len(v.begin.Summary) > 0 {
		c.messages = append(c.messages, summaryMessage(v.begin.Summary))
	}
	c.skills(v.skills)
	if v.restEnded() {
		c.part(v.rest, v.begin.Step, maxNumber)
	}
}

// ending is what is shown of the open turn.
func (v scope) ending(c *view) {
	switch {
	case v.open != nil:
		c.part(v.open, wholeTurn, maxNumber)
	case v.rest != nil && !v.restEnded():
		c.part(v.rest, v.begin.Step, maxNumber)
	}
}

// newView collects what the model of that name is to see.
func newView(name string) *view {
	return &view{model: name, messages: []model.Message{}}
}

// compact folds what models are shown in place of what was said.
func (s *State) compact(e events.ContextCompacted) {
	if e.Step == nil {
		s.mask(e)
		return
	}
	s.done(*e.Step, "", "")
	s.bound(e.Boundary, e.Summary)
	if s.f.Current != nil {
		s.f.Compacted = true
	}
}

func (s *State) bound(b events.Boundary, summary []events.Part) {
	s.f.Boundaries = with(s.f.Boundaries, &boundary{Boundary: b, Summary: summary})
	s.f.Measured = measured{}
}

// unbound takes the boundary of the path back, or has the outputs shown again that
// were left out since.
func (s *State) unbound() {
	newest := s.undoable()
	s.f.Boundaries = slices.DeleteFunc(slices.Clone(s.f.Boundaries), func(b *boundary) bool { return b == newest })
	s.f.Measured = measured{}
	if len(newest.Masked) > 0 {
		s.setMasked(newest.Masked, false)
	}
}

// done closes a step whose use stands in an event of its own. With a class that
// is why it was of none.
func (s *State) done(id events.StepID, class events.ErrorClass, message string) {
	if id.Turn == 0 {
		s.f.Aside = nil
		return
	}
	st := s.step(id)
	st.Phase, st.Parts, st.Class, st.Message = phaseDone, nil, class, message
}

// misfitCompaction judges the outcome of a summary, or of masking.
func (s State) misfitCompaction(e events.ContextCompacted) string {
	if e.Step == nil {
		return s.misfitMasking(e)
	}
	st := s.step(*e.Step)
	if st == nil || st.Purpose != events.PurposeSummary || st.Phase != phaseCompleted {
		return "step " + e.Step.String() + " has written no summary"
	}
	if len(e.Summary) == 0 || len(e.Masked) > 0 {
		return "the summary of step " + e.Step.String() + " says nothing, or something else is left out with it"
	}
	return s.misfitBoundary(e.Boundary)
}

// misfitBoundary says that there is nothing where the boundary is.
func (s State) misfitBoundary(b events.Boundary) string {
	t := s.ended(b.Turn)
	if s.f.Current != nil && s.f.Current.Number == b.Turn {
		t = s.f.Current
	}
	if t == nil || b.Step < 0 || b.Step > len(t.Steps)+1 {
		return "there is nothing to put a boundary behind at " + events.StepID(b).String()
	}
	return ""
}

func (s State) misfitFailure(e events.ContextCompactionFailed) string {
	st := s.step(e.Step)
	if st == nil || st.Purpose != events.PurposeSummary || st.Phase == phaseOpen || st.Phase == phaseDone {
		return "step " + e.Step.String() + " has failed to write no summary"
	}
	return ""
}

func (s State) misfitClear(e events.ContextCleared) string {
	if s.f.Current != nil {
		return "the context is cleared while a turn is open"
	}
	return s.misfitBoundary(e.Boundary)
}

func (s State) misfitRestore(e events.ContextRestored) string {
	if b := s.undoable(); b == nil || b.Boundary != e.Boundary {
		return "the boundary " + events.StepID(e.Boundary).String() + " is not the newest, so it cannot be undone"
	}
	return ""
}
