package replay

import (
	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// words are what another chat may have told: that it is to begin, that it is to stop,
// or what it has come to.
func (h *History) words(c events.Commit) ([]guess, bool) {
	if first, ok := c.Events[0].(events.ChatSpawned); ok {
		return h.births(c, first), true
	}
	if _, stops := c.Events[0].(events.TurnInterruptRequested); stops {
		parent, _ := h.state.Parent()
		return []guess{{message: chat.Recall{Parent: parent}}}, true
	}
	if ended, ok := c.Events[0].(events.ChildEnded); ok {
		return h.reports(c, ended), true
	}
	return nil, false
}

// births are what a chat may have been made with: its task is in its first commit.
func (h *History) births(c events.Commit, first events.ChatSpawned) []guess {
	b := chat.Birth{Parent: first.Parent, Depth: first.Depth, Settings: first.Settings, Title: first.Title, Granted: first.Granted}
	var g guess
	for _, e := range c.Events[1:] {
		if in, ok := e.(events.InputAccepted); ok && len(b.Parts) == 0 {
			b.Parts, g.stands = h.filled(c.Key, in.Parts, true)
		}
		if _, stops := e.(events.TurnInterruptRequested); stops {
			b.Stopped = true
		}
	}
	g.message = b
	return []guess{g}
}

// reports are what a child may have told that ended so. Of an answer that was too long
// for a result, only what was kept is here.
func (h *History) reports(c events.Commit, ended events.ChildEnded) []guess {
	r := chat.Report{Call: ended.Call, Child: ended.Child, Outcome: ended.Outcome, Totals: ended.Totals, Spent: ended.Spent}
	if len(c.Events) == 1 {
		return []guess{{message: r}} // a child never ends alone
	}
	result, ok := c.Events[1].(events.ToolCompleted)
	if !ok {
		return []guess{{message: r}}
	}
	var g guess
	r.Status = result.Status
	r.Parts, g.stands = h.filled(c.Key, result.Parts, true)
	if result.Truncated {
		g.verdicts = func(decided []events.Event) []events.Event { return asCut(decided, result) }
	}
	g.message = r
	return []guess{g}
}

// asCut is a decision upon a report of which more was told than is known.
func asCut(decided []events.Event, result events.ToolCompleted) []events.Event {
	list := make([]events.Event, len(decided))
	for i, e := range decided {
		if e, ok := e.(events.ToolCompleted); ok && e.Call == result.Call {
			e.Truncated, e.Blob = true, result.Blob
			list[i] = e
			continue
		}
		list[i] = e
	}
	return list
}

// isChildOf reports whether an event is that a call got a child.
func isChildOf(e events.Event, call events.CallID) bool {
	s, ok := e.(events.ChildSpawned)
	return ok && s.Call == call
}
