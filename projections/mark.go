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

// mark notes what changed in what models are shown.
func (f *fold) mark(m Mark) {
	m.After, m.Rev, m.At = len(f.messages), f.head.Rev, f.head.At
	f.marks = append(f.marks, m)
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
