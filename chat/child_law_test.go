package chat_test

import (
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
)

// Whoever finds a chat that waits for a child finds in what it owes all that is to be
// done: how the child begins, and that it is asked, or stopped.
//
// Rule: S11.
func TestAChatOwesWordToEachOpenChild(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		history(t, func(d *chatgen.Driver, _ chat.State, m chat.Message) {
			open := d.State.OpenChildren()
			if len(open) > events.MaxOpenChildren {
				t.Fatalf("after %T: %d children are open", m, len(open))
			}
			var words []protocol.ChatWork
			for _, w := range chat.Owed(d.State) {
				if w, ok := w.(protocol.ChatWork); ok {
					words = append(words, w)
				}
			}
			if len(words) != len(open) {
				t.Fatalf("after %T: %d children are open, owed are %+v", m, len(open), words)
			}
			for i, call := range open {
				b, waits := d.State.BirthOf(call)
				stops := words[i].What == protocol.WordStop
				if words[i].Call != call || !waits || stops != d.State.Interrupting() || b.Stopped != stops {
					t.Fatalf("after %T: call %s is owed %+v, its birth is %+v, %t", m, call, words[i], b, waits)
				}
				if !slices.ContainsFunc(b.Parts, func(p events.Part) bool { return p.Text != "" }) || b.Depth < 1 || b.Depth > events.MaxDepth {
					t.Fatalf("after %T: the child of call %s would begin with %+v", m, call, b)
				}
			}
		})
	})
}

// A child has one first turn, and has come to the same whenever it is asked.
//
// Rule: S11.
func TestAChildTellsItsEndOnceAndTheSameEachTime(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		d := chatgen.NewChildDriver(lawful, drawn{t})
		parent, _ := d.State.Parent()
		first, ended := d.State.ReportTo(parent)
		for range rapid.IntRange(1, maxMessages).Draw(t, "messages") {
			m := d.Any()
			d.Take(m)
			switch r, now := d.State.ReportTo(parent); {
			case ended && !now:
				t.Fatalf("after %T: it has not ended any more", m)
			case ended && !d.State.Erased() && (r.Outcome != first.Outcome || r.Status != first.Status || r.Totals != first.Totals):
				t.Fatalf("after %T: it came to %+v, and before to %+v", m, r, first)
			case now && d.State.Erased() && r.Outcome != events.ChildErased:
				t.Fatalf("after %T: it is erased, and came to %+v", m, r)
			case now && !ended:
				first, ended = r, now
			}
			if p, is := d.State.Parent(); (!is || p != parent) && !d.State.Erased() {
				t.Fatalf("after %T: it works for %+v", m, p)
			}
		}
	})
}

// A call is open, or gone, or not there yet: whoever carries word of it tells by that
// whether the child works for nobody.
//
// Rule: S11.
func TestACallIsNeverGoneWhileItsChildIsWaitedFor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		had := map[events.CallID]bool{}
		history(t, func(d *chatgen.Driver, _ chat.State, m chat.Message) {
			open := d.State.OpenChildren()
			for _, id := range open {
				had[id] = true
				later := id
				later.Step++
				if d.State.Gone(id) || d.State.Gone(later) {
					t.Fatalf("after %T: call %s, or a later one, is gone, and a child works for it", m, id)
				}
			}
			for id := range had {
				if !slices.Contains(open, id) && !d.State.Gone(id) {
					t.Fatalf("after %T: no child works for call %s, and it is not gone", m, id)
				}
			}
		})
	})
}
