package projections

import (
	"cmp"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
)

// Sizes of what a page says of contexts.
const (
	maxSummaryBytes = 4 << 10
	maxPageMarks    = 20
)

// turnMark is a mark and the turn whose branches it is on; 0 is on all of them.
type turnMark struct {
	Mark

	turn     int
	boundary events.Boundary // that can be taken back; of no turn if none can
}

// mark notes what changed in what models are shown on the branches of a turn.
func (f *fold) mark(m turnMark) {
	m.After, m.Rev, m.At = cmp.Or(m.After, len(f.messages)), f.head.Rev, f.head.At
	f.marks = append(f.marks, m)
}

// failed tells that no summary was written, where one was wanted.
func (f *fold) failed(e events.ContextCompactionFailed) {
	f.mark(turnMark{Mark: Mark{Kind: MarkFailed, Message: e.Message}, turn: cmp.Or(e.Step.Turn, f.tip)})
}

// cleared stands behind the turn with which it ends, also on a branch on which more
// was said before: that is still shown there.
func (f *fold) cleared(e events.ContextCleared) {
	f.mark(turnMark{Mark: Mark{Kind: MarkCleared, After: f.lastOn(e.Boundary.Turn)}, turn: e.Boundary.Turn, boundary: e.Boundary})
}

// restored is on the branches of what it takes back.
func (f *fold) restored(e events.ContextRestored) {
	turn := e.Boundary.Turn
	for i := range slices.Backward(f.marks) {
		if m := &f.marks[i]; m.boundary.Turn != 0 && m.boundary == e.Boundary {
			turn, m.boundary = m.turn, events.Boundary{}
			break
		}
	}
	f.mark(turnMark{Mark: Mark{Kind: MarkRestored}, turn: turn})
}

// skillActivated stands behind what was said to the step.
func (f *fold) skillActivated(e events.SkillActivated) {
	f.mark(turnMark{Mark: Mark{Kind: MarkSkill, Skill: e.Skill}, turn: e.Step.Turn})
}

// lastOn is the number of the last message on the path to the end of a turn.
func (f *fold) lastOn(turn int) int {
	p, known := f.path(turn)
	if !known {
		return 0
	}
	for _, m := range slices.Backward(f.messages) {
		if p.has(m.Turn) {
			return m.N
		}
	}
	return 0
}

// marksOn are those of a path. On another one models are shown what they were
// shown before.
func (f *fold) marksOn(p path) []Mark {
	var list []Mark
	for _, m := range f.marks {
		if m.turn == 0 || p.has(m.turn) {
			list = append(list, m.Mark)
		}
	}
	return list
}

// compactedTurn is the turn whose branches are shown less: that of the boundary or,
// where only outputs are left out, the first that has one of them.
func compactedTurn(e events.ContextCompacted) int {
	if e.Step != nil || len(e.Masked) == 0 {
		return e.Boundary.Turn
	}
	first := e.Masked[0].Turn
	for _, call := range e.Masked {
		first = min(first, call.Turn)
	}
	return first
}

func (f *fold) compacted(e events.ContextCompacted) {
	var text strings.Builder
	for _, p := range e.Summary {
		text.WriteString(p.Text)
	}
	m := Mark{
		Kind: MarkCompacted, Before: e.Before, Tokens: e.After, Masked: len(e.Masked), Summary: events.CutText(text.String(), maxSummaryBytes),
	}
	f.mark(turnMark{Mark: m, turn: compactedTurn(e), boundary: e.Boundary})
}

// marksWithin are those behind the messages of a page, which follow message from
// and end with message to, the newest ones. The first page has those before any
// message, too.
func marksWithin(marks []Mark, from, to int) []Mark {
	var list []Mark
	for _, m := range marks {
		if m.After <= to && (m.After > from || from == 0) {
			list = append(list, m)
		}
	}
	return slices.Clip(list[max(0, len(list)-maxPageMarks):])
}
