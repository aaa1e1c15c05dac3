package projections

import (
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

	turn int
}

// mark notes what changed in what models are shown on the branches of a turn.
func (f *fold) mark(m Mark, turn int) {
	m.After, m.Rev, m.At = len(f.messages), f.head.Rev, f.head.At
	f.marks = append(f.marks, turnMark{Mark: m, turn: turn})
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

func compacted(e events.ContextCompacted) Mark {
	var text strings.Builder
	for _, p := range e.Summary {
		text.WriteString(p.Text)
	}
	return Mark{
		Kind: MarkCompacted, Before: e.Before, Tokens: e.After, Masked: len(e.Masked), Summary: events.CutText(text.String(), maxSummaryBytes),
	}
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
