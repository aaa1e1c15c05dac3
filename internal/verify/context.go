package verify

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// savedShare is how many percent of what was shown a summary must save.
const savedShare = 20

// summing reports whether a summary is being written while no turn runs.
func (h *history) summing() bool {
	return h.aside.asks() && h.aside.purpose == events.PurposeSummary
}

// summaryRequested judges I15 for a step that is to write a summary: nothing is
// open, and it is about something that was said.
func (h *history) summaryRequested(e events.StepRequested) {
	if e.Until == nil {
		h.breaks(RuleCompaction, Place{}, "step %s is to sum up nothing", e.Step)
		return
	}
	h.within(*e.Until, e)
	t := h.turn
	if t == nil || t.step == nil {
		return
	}
	for _, open := range t.step.openCalls() {
		h.breaks(RuleCompaction, t.step.closed, "step %s is to sum up while %s has no result", e.Step, describe(open.id, "call"))
	}
}

// within judges that a boundary is behind something that was said, and not behind
// what is still to be answered.
func (h *history) within(b events.Boundary, e events.Event) {
	t := h.turn
	switch newest := h.newestTurn(); {
	case b.Turn < 1 || b.Step < 0 || b.Turn > newest:
		h.breaks(RuleCompaction, Place{}, "%s is about %s, and there is no such thing", e.EventType(), events.StepID(b))
	case t == nil || b.Turn != t.number:
	case b.Step > t.steps:
		h.breaks(RuleCompaction, t.start, "%s is about step %s, which there is not", e.EventType(), events.StepID(b))
	case b.Step == 0 && t.inputs == 0: // it goes on with another turn: nothing of its own stands before its first step
	case t.step == nil || t.step.phase == stepFailed && t.answers == 1:
		h.breaks(RuleCompaction, t.start, "%s is about the inputs of turn %d, which nobody has answered", e.EventType(), t.number)
	}
}

// summaryOf gives the step that a compaction or its failure is about, which is
// settled with it, and reports whether there is one.
func (h *history) summaryOf(id events.StepID, e events.Event) (*step, bool) {
	s := h.aside
	if id.Turn != 0 {
		if !h.belongs(id.Turn, e) {
			return nil, false
		}
		s = h.turn.other
	}
	switch {
	case s == nil || s.id != id || s.purpose != events.PurposeSummary:
		h.breaks(RuleCompaction, Place{}, "%s of step %s, which was not asked for a summary", e.EventType(), id)
		return nil, false
	case s.done:
		h.breaks(RuleCompaction, s.closed, "%s of step %s, which is settled", e.EventType(), id)
		return nil, false
	}
	s.done = true
	return s, true
}

func (h *history) contextCompacted(e events.ContextCompacted) {
	if e.Step == nil {
		h.outputsMasked(e)
		return
	}
	s, ok := h.summaryOf(*e.Step, e)
	if !ok {
		return
	}
	if s.phase != stepCompleted || s.closed != h.here {
		h.breaks(RuleCompaction, s.closed, "step %s has written no summary just now", s.id)
	}
	if s.until == nil || e.Boundary != *s.until {
		h.breaks(RuleCompaction, s.requested, "step %s has summed up what is before another boundary than %s", s.id, events.StepID(e.Boundary))
	}
	if s.stop == events.StopLength || s.stop == events.StopPaused {
		h.breaks(RuleCompaction, s.closed, "the summary of step %s was cut off before its end", s.id)
	}
	if len(e.Masked) > 0 {
		h.breaks(RuleCompaction, s.closed, "beside the summary of step %s %d outputs are left out", s.id, len(e.Masked))
	}
	if isEmpty(e.Summary) {
		h.breaks(RuleCompaction, s.closed, "the summary of step %s says nothing", s.id)
	}
	h.shrinks(e)
	if t := h.turn; s.id.Turn != 0 {
		t.compactions++
		h.oncePerAnswer(e)
	}
	h.bounds(e.Boundary, e)
}

func (h *history) shrinks(e events.ContextCompacted) {
	if e.After*100 > e.Before*(100-savedShare) {
		h.breaks(RuleCompaction, Place{}, "the context had %d tokens and has %d: that saves less than %d percent", e.Before, e.After, savedShare)
	}
}

// oncePerAnswer judges I15: between two summaries that nobody asked for something
// is answered. One may follow when outputs were left out.
func (h *history) oncePerAnswer(e events.Event) {
	if h.compacted.known() {
		h.breaks(RuleCompaction, h.compacted, "%s follows another, and nothing was answered between them", e.EventType())
	}
	h.compacted = h.here
}

func (h *history) compactionFailed(e events.ContextCompactionFailed) {
	s, ok := h.summaryOf(e.Step, e)
	if !ok {
		return
	}
	asked := h.cause.Kind == events.CausedByCommand || h.cause.Kind == events.CausedByRestore
	unpaid := e.Class == events.ClassCancelled && h.nothingLeft() // for another attempt
	stopped := (asked || unpaid) && e.Step.Turn == 0 && s.phase == stepFailed
	switch {
	case s.phase == stepOpen, s.closed != h.here && !stopped:
		h.breaks(RuleCompaction, s.closed, "step %s has not just failed to write a summary", s.id)
	case s.phase == stepFailed && s.retryAt == 0 && e.Class != s.class:
		h.breaks(RuleCompaction, s.closed, "step %s failed as %s, and its summary as %s", s.id, s.class, e.Class)
	}
	s.phase, s.retryAt, s.class = stepFailed, 0, e.Class
}

func (h *history) contextCleared(e events.ContextCleared) {
	h.betweenTurns(e)
	h.within(e.Boundary, e)
	h.bounds(e.Boundary, e)
	h.compacted, h.leftOut = Place{}, Place{}
}

func (h *history) contextRestored(e events.ContextRestored) {
	h.betweenTurns(e)
	h.compacted, h.leftOut = Place{}, Place{}
	switch i := h.newestChange(); {
	case i < 0:
		h.breaks(RuleCompaction, Place{}, "there is no boundary %s to be taken back", events.StepID(e.Boundary))
	case h.changes[i].boundary != e.Boundary:
		h.breaks(RuleCompaction, Place{}, "boundary %s is taken back, and the newest is %s", events.StepID(e.Boundary), events.StepID(h.changes[i].boundary))
	default:
		h.takeBack(i)
	}
}

// betweenTurns judges that what models are shown changes by hand only while
// nothing is asked.
func (h *history) betweenTurns(e events.Event) {
	if t := h.turn; t != nil {
		h.breaks(RuleCompaction, t.start, "%s while turn %d is open", e.EventType(), t.number)
	}
	if h.summing() {
		h.breaks(RuleCompaction, h.aside.requested, "%s while step %s is under way", e.EventType(), h.aside.id)
	}
}

// leftover judges that what came of a summary is in the commit that ended it.
func (h *history) leftover(s *step) {
	if s == nil || s.purpose != events.PurposeSummary || s.done || s.asks() || s.reported {
		return
	}
	s.reported = true
	h.breaks(RuleCompaction, s.closed, "step %s was to write a summary, and nobody says what came of it", s.id)
}

func isEmpty(parts []events.Part) bool {
	for _, p := range parts {
		if p.Blob != "" || strings.TrimSpace(p.Text) != "" {
			return false
		}
	}
	return true
}

// contextOf judges what a compaction says of sizes, by what models are shown
// before it and after it, and that instructions and tools are what they were.
func (f *fold) contextOf(h *history, c events.Commit, was chat.State, hash string) {
	for i, e := range c.Events {
		e, ok := e.(events.ContextCompacted)
		if !ok {
			continue
		}
		before, after := chat.Prompt(upTo(was, c, i, hash)), chat.Prompt(upTo(was, c, i+1, hash))
		if n := estimate(before.Messages); n != e.Before {
			h.breaks(RuleCompaction, Place{}, "the context is said to have had %d tokens, and had %d", e.Before, n)
		}
		if n := estimate(after.Messages); n != e.After {
			h.breaks(RuleCompaction, Place{}, "the context is said to have %d tokens, and has %d", e.After, n)
		}
		if e.Step == nil {
			h.leavesOut(e, before.Messages, after.Messages)
		} else {
			h.sumsUp(said(before.Messages), said(after.Messages))
		}
		before.Messages, after.Messages = instructions(before.Messages), instructions(after.Messages)
		if !bytes.Equal(before.Canonical(), after.Canonical()) {
			h.breaks(RuleCompaction, Place{}, "a compaction changes instructions or tools")
		}
	}
}

// upTo is a state after the first n events of a commit.
func upTo(s chat.State, c events.Commit, n int, hash string) chat.State {
	if n == 0 {
		return s
	}
	c.Events, c.Cause = c.Events[:n], events.Cause{} // nobody is told what came of it
	return s.Apply(c, hash)
}

// instructions are the messages that nobody said.
func instructions(list []model.Message) []model.Message {
	var found []model.Message
	for _, m := range list {
		if m.Instruction {
			found = append(found, m)
		}
	}
	return found
}

// said are the others.
func said(list []model.Message) []model.Message {
	return slices.DeleteFunc(slices.Clone(list), func(m model.Message) bool { return m.Instruction })
}

// sumsUp judges what models are shown before and after a summary: that one, then the
// skills that hold, and then the newest of what they were shown. Nothing comes back.
func (h *history) sumsUp(before, after []model.Message) {
	if len(after) == 0 || len(after) > len(before) {
		h.breaks(RuleCompaction, Place{}, "%d messages were shown, and %d are since they were summed up", len(before), len(after))
		return
	}
	h.keepsSkills(before, after)
	rest := after[1:]
	for len(rest) > 0 && h.isSkill(rest[0]) && contains(before, rest[0]) {
		rest = rest[1:]
	}
	kept := before[len(before)-len(rest):]
	for i, m := range rest {
		if !isSame(m, kept[i]) {
			h.breaks(RuleCompaction, Place{}, "message %d behind a summary is none of the newest that were shown before it", i+1)
			return
		}
	}
}

// estimate counts tokens as the rules do where no provider has: four characters
// each, four more for a message, a thousand for an image.
func estimate(list []model.Message) int64 {
	sum := int64(0)
	for _, m := range list {
		if m.Instruction {
			continue // it stays as it is
		}
		parts := append([]events.Part(nil), m.Parts...)
		for _, r := range m.Results {
			parts = append(append(parts, events.Text(r.Name)), r.Parts...)
		}
		sum += 4 + estimateParts(parts)
	}
	return sum
}

func estimateParts(parts []events.Part) int64 {
	sum, chars := int64(0), int64(0)
	for _, p := range parts {
		switch {
		case p.Type == events.PartImage:
			sum += tokensPerPic
		case p.Type == events.PartFile || p.Type == events.PartSource:
			chars += int64(len(p.Name + p.Title + p.URL))
		case p.Blob != "":
			chars += p.Bytes
		default:
			chars += int64(utf8.RuneCountInString(p.Text+p.Arguments)) + int64(len(p.JSON)+len(p.Opaque)+len(p.Name))
		}
	}
	return sum + (chars+3)/4
}
