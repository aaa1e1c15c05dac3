package chatgen

import (
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// What a model may have a sub-agent do, and what nobody could.
const (
	ArgumentsTask      = `{"task":"Look it up."}`
	ArgumentsTaskAll   = `{"task":"Go on.\nAnd on.","context":"all"}`
	ArgumentsTaskLast  = `{"task":"Go on.","context":"last_n","messages":2}`
	ArgumentsTaskAgent = `{"task":"Help.","agent":"` + AgentHelper + `"}`
	ArgumentsTaskBlank = `{"task":" "}`
)

// NewChild is a chat that was made to work for a call of another one.
func NewChild(parent events.Key, b chat.Birth) *Chat {
	c := New(protocol.ChildKey(parent, b.Parent.Call))
	c.Handle(b)
	return c
}

// BirthFor is how a chat comes into being that works for a call of a chat which works
// for nobody.
func BirthFor(parent events.Key, call events.CallID) chat.Birth {
	return chat.Birth{
		Parent: events.Parent{Chat: parent.Chat, Call: call}, Depth: 1, Title: "Look it up.",
		Parts: []events.Part{events.Text("Look it up.")},
	}
}

// Report tells the chat how a child of it has ended, if it has.
func (c *Chat) Report(child *Chat) chat.Decision {
	p, _ := child.State.Parent()
	r, ended := child.State.ReportTo(p)
	if !ended {
		return chat.Decision{}
	}
	return c.Handle(r)
}

// ChildOf makes the chat that works for an open call, as whoever owes its report does.
func (c *Chat) ChildOf(call events.CallID) (*Chat, bool) {
	b, open := c.State.BirthOf(call)
	if !open {
		return nil, false
	}
	child := New(protocol.ChildKey(c.key, call))
	child.Live, child.now = c.Live, c.now
	child.Handle(b)
	return child, true
}

// NewChildDriver drives a chat that works for a call of a chat of that name, at any
// depth, which nobody sees.
func NewChildDriver(parent events.Key, chance Chance) *Driver {
	call := events.CallID{Turn: 1, Step: 1 + chance.IntN(3), Ordinal: 1 + chance.IntN(3)}
	d := DriverOf(New(protocol.ChildKey(parent, call)), chance)
	d.disturb()
	b := BirthFor(parent, call)
	b.Depth, b.Stopped = 1+d.chance.IntN(events.MaxDepth), d.yes(8)
	b.Settings = d.settings()
	b.Settings.Approval = []events.ApprovalMode{events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull}[d.chance.IntN(3)] // that of a turn
	if d.yes(4) {
		b.Settings.Agent = AgentHelper
	}
	if d.yes(3) {
		b.Granted = events.Budget{Tokens: int64(1 + d.chance.IntN(90)), TimeMS: int64(d.chance.IntN(9_000))}
	}
	d.Take(b)
	return d
}

// word is what a child may tell its parent: that it has ended, somehow.
func (d *Driver) word(w protocol.ChatWork) chat.Message {
	if d.kin == nil {
		return d.report(w.Call)
	}
	if m, told := d.kin(d, w); told {
		return m
	}
	return d.wish()
}

// report is what a child that nobody sees may have come to; seldom it is that of
// another call.
func (d *Driver) report(call events.CallID) chat.Report {
	r := chat.Report{
		Call: call, Child: protocol.ChildKey(d.key, call).Chat, Outcome: events.ChildCompleted, Status: events.ToolError,
		Parts:  []events.Part{events.Text(d.text())},
		Totals: events.Totals{Steps: 1 + d.chance.IntN(3), Attempts: 4, Usage: events.Usage{Input: 7}},
		Spent:  events.Spending{Tokens: int64(d.chance.IntN(40)), CostMicros: int64(d.chance.IntN(9)), Unpriced: d.chance.IntN(2)},
	}
	switch d.chance.IntN(11) {
	case 10:
		r.Outcome = events.ChildBudget
	case 0:
		r.Outcome = events.ChildFailed
	case 1:
		r.Outcome = events.ChildInterrupted
	case 2:
		r.Outcome, r.Totals = events.ChildErased, events.Totals{}
	case 3: // it came to its limit of steps
	case 4:
		r.Child = protocol.ChildKey(events.Key{Tenant: d.key.Tenant, Chat: "another"}, call).Chat // dropped
	case 5:
		r.Status, r.Parts = events.ToolOK, append(r.Parts, events.Text(strings.Repeat("é", events.MaxResultBytes/2))) // cut
	case 6:
		r.Status, r.Parts = events.ToolOK, nil
	default:
		r.Status = events.ToolOK
	}
	return r
}

// wildWord is word from another chat that nobody waits for.
func (d *Driver) wildWord() chat.Message {
	p, isChild := d.State.Parent()
	if !isChild || d.yes(3) {
		p = events.Parent{Chat: d.key.Chat, Call: d.wildCall()}
	}
	switch n := d.chance.IntN(4); {
	case n == 0:
		return chat.Recall{Parent: p}
	case n == 1 && d.State.Exists(): // one that does not would become a child by it, under a name that is no child's
		return chat.Birth{Parent: p, Depth: 1, Parts: []events.Part{events.Text("Begin.")}, Stopped: d.yes(2)}
	case n == 2 && len(d.State.OpenChildren()) > 0:
		return d.report(d.State.OpenChildren()[0])
	}
	return d.report(d.wildCall())
}
