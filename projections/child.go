package projections

import (
	"context"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// maxKin bounds how many chats are looked at for one answer: those that work for a
// chat, and those that work for them.
const maxKin = 64

// maxAwaitedBytes is how much of its arguments is shown of a call that waits elsewhere.
const maxAwaitedBytes = 2 << 10

// openChild is a chat that works for an open call.
type openChild struct {
	call events.CallID
	chat string
}

func (f *fold) childSpawned(e events.ChildSpawned) {
	f.children = append(slices.Clip(f.children), openChild{e.Call, e.Child})
	f.call(e.Call, func(c *Call) {
		c.Status, c.Work = transcript.CallChild, &transcript.Work{Chat: e.Child, Due: e.Due}
	})
}

func (f *fold) childEnded(e events.ChildEnded) {
	f.children = slices.DeleteFunc(slices.Clone(f.children), func(c openChild) bool { return c.call == e.Call })
	f.call(e.Call, func(c *Call) {
		if c.Work == nil {
			return
		}
		w := *c.Work
		w.Outcome, w.Totals = e.Outcome, e.Totals
		c.Work = &w
	})
}

// awaited are the calls of the newest answer that wait for somebody to approve them or
// to answer what they ask.
func (f *fold) awaited() []transcript.Awaited {
	if f.answer < 0 || f.head.Status != StatusRunning {
		return nil
	}
	var list []transcript.Awaited
	for _, p := range f.messages[f.answer].Parts {
		if c := p.Call; c != nil && (c.Status == transcript.CallApproval || c.Status == CallAsking) {
			list = append(list, transcript.Awaited{Chat: f.key.Chat, Call: c.ID, Tool: p.Name, Arguments: events.CutText(p.Arguments, maxAwaitedBytes), Status: c.Status, Question: c.Question})
		}
	}
	return list
}

// kin looks at the chats that work for a chat now. One that cannot be seen hides no
// other: the answer is about the chat that was asked for.
func (p *Projections) kin(ctx context.Context, tenant string, open []openChild, room *int) ([]transcript.Child, error) {
	var list []transcript.Child
	for _, o := range open {
		child := transcript.Child{Call: o.call, Chat: o.chat}
		if *room--; *room >= 0 {
			var below []openChild
			k := events.Key{Tenant: tenant, Chat: o.chat}
			_, _ = p.tryFolded(ctx, k, Point{}, 0, func(f *fold) error {
				if f.erased == nil {
					child.Status, child.Awaits, below = f.head.Status, f.awaited(), f.children
				}
				return nil
			}) // whatever is wrong with it is told to who asks for it
			if err := ctx.Err(); err != nil {
				return nil, fmt.Errorf("chat %s, which works for it: %w", o.chat, err)
			}
			kin, err := p.kin(ctx, tenant, below, room)
			if err != nil {
				return nil, err
			}
			for _, c := range kin {
				child.Awaits = append(child.Awaits, c.Awaits...)
			}
		}
		list = append(list, child)
	}
	return list, nil
}

// work tells which chat works for a call, or did.
func (t *TextWriter) work(w *transcript.Work) {
	switch {
	case w == nil:
	case w.Outcome == "":
		t.indented("   ", fmt.Sprintf("chat %s works for it until %s", w.Chat, t.clock(w.Due)))
	default:
		t.indented("   ", fmt.Sprintf("chat %s worked for it: %s (%s, %s)", w.Chat, w.Outcome,
			count(w.Totals.Steps, "step"), count(w.Totals.Calls, "call")))
	}
}

// kin tells how the chats stand that work for this one, and what waits in them.
func (t *TextWriter) kin(children []transcript.Child) (told bool) {
	for _, c := range children {
		told = true
		status := string(c.Status)
		if status == "" {
			status = "not to be seen"
		}
		t.printf("\n.. chat %s works for call %s: %s\n", c.Chat, c.Call, status)
		for _, a := range c.Awaits {
			t.printf("   %s\n", AwaitedLine(a))
		}
	}
	return told
}

// AwaitedLine is what a call waits for in a chat that works for another one, and what
// to type.
func AwaitedLine(a transcript.Awaited) string {
	if a.Status == CallAsking && a.Question != nil {
		return fmt.Sprintf("call %s there waits for an answer: %s", a.Call, AnswerLine(a.Chat, a.Call, a.Question.Questions, nil))
	}
	return fmt.Sprintf("call %s there waits for approval: everturn approve %s %s  (%s %s)", a.Call, a.Chat, a.Call, oneLine(a.Tool), oneLine(a.Arguments))
}
