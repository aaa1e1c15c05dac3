package chat

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
)

// Numbers of masking. It comes before a summary, and loses less: what was said
// stays, and which call gave what can be asked again.
const (
	keptOutputTokens   = 50_000                   // of outputs, the newest, which stay
	maskedOutputTokens = keptOutputTokens * 3 / 2 // of outputs that are shown in all, past which older ones are left out
	maxMaskedCalls     = 256                      // whose outputs one event leaves out
)

// beforeAnyAttempt is the rev of the first commit, in which no model is asked. It
// stands for whatever happened in the history that a chat goes on from.
const beforeAnyAttempt = 1

// masking leaves old outputs of tools out of what is shown, false if that would
// not save enough to be worth it. Calls keep their results, and results their
// place: only what a result says is another.
func (s State) masking() (events.ContextCompacted, bool) {
	old := s.oldOutputs()
	if len(old) == 0 {
		return events.ContextCompacted{}, false
	}
	newest := old[len(old)-1]
	name := s.effective(s.tip()).Model
	after := s.clone()
	after.setMasked(old, true)
	e := events.ContextCompacted{
		Boundary: events.Boundary{Turn: newest.Turn, Step: newest.Step}, Masked: old,
		Before: s.shownTokens(s.scope(), name), After: after.shownTokens(after.scope(), name),
	}
	return e, saves(e.Before, e.After)
}

// oldOutputs are the calls that were successful so long ago that their outputs can
// be left out, oldest first. The newest outputs stay, and so does what no model
// has answered yet, however much that is.
func (s State) oldOutputs() []events.CallID {
	var old []events.CallID
	total, answered := int64(0), false
	for t, after := range s.scope().backward {
		for _, st := range slices.Backward(t.Steps) {
			if st.Number <= after || st.Purpose != events.PurposeAnswer || st.Phase != phaseCompleted {
				continue
			}
			for i := range slices.Backward(st.Calls) {
				c := &st.Calls[i]
				if !c.maskable() {
					continue
				}
				n := tokensOfParts(visible(c.Result.Parts))
				if answered && total >= keptOutputTokens && n > tokensOfText(c.placeholder()) {
					old = append(old, t.callID(st, c))
				}
				total += n
			}
			answered = true
		}
	}
	if total <= maskedOutputTokens {
		return nil
	}
	slices.Reverse(old)
	return old[:min(len(old), maxMaskedCalls)]
}

// maskable reports whether the call has an output of a tool that is shown and may
// be left out one day: the answer of a sub-agent is one, too. That a call failed, or
// that nobody knows what became of it, is said for ever; and what a person answered
// is no output.
func (c *call) maskable() bool {
	return c.Result != nil && c.Result.Status == events.ToolOK && !c.Result.IsError && !c.Masked && c.Question == nil
}

// placeholder stands in place of the call's output. Only of a tool that just reads
// the model is told to call it again.
func (c *call) placeholder() string {
	left := fmt.Sprintf("(The output of %s, about %d tokens, was left out to save room. ", c.Tool, tokensOfParts(visible(c.Result.Parts)))
	switch {
	case c.Child != nil:
		return left + "The sub-agent has done its task, and another one would do all of it again: if its answer is needed, " +
			"ask the user, who can read all of it in this chat, or delegate only to look up what is missing.)"
	case c.Requested != nil && c.Requested.ReadOnly, c.showsSkill():
		return left + "If it is needed, call the tool again with the same arguments.)"
	}
	return left + "The call was successful, and another one may do again what it did: if the output is needed, ask the user, who can read all of it in this chat.)"
}

// mask folds that outputs are left out.
func (s *State) mask(e events.ContextCompacted) {
	s.setMasked(e.Masked, true)
	s.f.Boundaries = with(s.f.Boundaries, &boundary{Boundary: e.Boundary, Masked: e.Masked})
	if s.f.Current != nil {
		s.f.LeftOut = s.f.Rev
	}
}

// setMasked has the outputs of those calls left out, or shown again. Ended turns
// are shared, so those with such a call are replaced.
func (s *State) setMasked(ids []events.CallID, masked bool) {
	s.hashed = new(hashed) // what is remembered is of what was shown
	s.f.Measured = measured{}
	var past []*turn
	for len(ids) > 0 {
		number, n := ids[0].Turn, 1
		for n < len(ids) && ids[n].Turn == number {
			n++
		}
		switch t := s.ended(number); {
		case s.f.Current != nil && s.f.Current.Number == number:
			s.f.Current = s.f.Current.withMasked(ids[:n], masked)
		case t != nil:
			if past == nil {
				past = slices.Clone(s.f.Past)
			}
			past[slices.Index(s.f.Past, t)] = t.withMasked(ids[:n], masked)
		}
		ids = ids[n:]
	}
	if past == nil {
		return
	}
	at := s.f.Tip
	if s.f.Current != nil {
		at = s.f.Current.Parent
	}
	s.f.Past, s.path = past, pathTo(past, at)
}

// withMasked is the turn with the outputs of those of its calls left out, or shown
// again.
func (t *turn) withMasked(ids []events.CallID, masked bool) *turn {
	own := *t
	own.Steps = slices.Clone(t.Steps)
	if t.shown != nil {
		own.shown = new(shown)
	}
	for _, id := range ids {
		if own.callAt(id) == nil {
			continue
		}
		st := *own.Steps[id.Step-1]
		st.Calls = slices.Clone(st.Calls)
		st.Calls[id.Ordinal-1].Masked = masked
		own.Steps[id.Step-1] = &st
	}
	return &own
}

// callAt is a call of the turn, nil if it has none of that id.
func (t *turn) callAt(id events.CallID) *call {
	if id.Turn != t.Number || id.Step < 1 || id.Step > len(t.Steps) {
		return nil
	}
	st := t.Steps[id.Step-1]
	if id.Ordinal < 1 || id.Ordinal > len(st.Calls) {
		return nil
	}
	return &st.Calls[id.Ordinal-1]
}

// misfitMasking judges a compaction that no step has written: outputs are left
// out, and nothing else happens.
func (s State) misfitMasking(e events.ContextCompacted) string {
	t, asked := s.pending()
	if t == nil || asked != nil || len(e.Summary) > 0 || len(e.Masked) == 0 {
		return "the context is compacted by no step"
	}
	last := events.CallID{}
	for _, id := range e.Masked {
		t := s.f.Current
		if t == nil || t.Number != id.Turn {
			t = pastTurn(s.path, id.Turn)
		}
		if t == nil || t.callAt(id) == nil || !t.callAt(id).maskable() {
			return "call " + id.String() + " has no output that could be left out"
		}
		if id.Compare(last) <= 0 {
			return "the calls whose outputs are left out are in no order"
		}
		last = id
	}
	return s.misfitBoundary(e.Boundary)
}
