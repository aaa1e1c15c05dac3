package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// parentStory is a turn with three children, of which one answers, one fails, and one
// is not waited for; then with more than may be open, and interrupted.
func parentStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Tools: &[]string{chat.ToolDelegate, chatgen.ToolRead}})
	c.Send("one")
	delegate := chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask)
	c.Answer(delegate, chatgen.Call(chatgen.ToolRead, ""), delegate, delegate, chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTaskBlank))
	c.Claim(call(2), 1)
	c.Result(call(2), events.ToolOK, "read")
	ends(c, call(1), events.ChildCompleted, events.ToolOK)
	ends(c, call(3), events.ChildFailed, events.ToolError)
	c.Fire()
	c.Answer(slices.Repeat([]events.Part{delegate}, 10)...)
	ends(c, events.CallID{Turn: 1, Step: 2, Ordinal: 4}, events.ChildCompleted, events.ToolOK)
	c.Interrupt()
	ends(c, events.CallID{Turn: 1, Step: 2, Ordinal: 5}, events.ChildInterrupted, events.ToolError)
	c.Fire()
	return over(t, c)
}

func ends(c *chatgen.Chat, id events.CallID, outcome events.ChildOutcome, status events.ToolStatus) {
	c.Handle(chat.Report{
		Call: id, Child: protocol.ChildKey(c.Key(), id).Chat, Outcome: outcome, Status: status,
		Parts: []events.Part{events.Text("done")}, Totals: events.Totals{Steps: 1, Attempts: 1},
	})
}

// childStory is a chat that works for another, and is asked something more.
func childStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	b := chatgen.BirthFor(events.Key{Tenant: "acme", Chat: "parent"}, call(1))
	b.Depth = events.MaxDepth - 1
	b.Settings.Tools = &[]string{chat.ToolDelegate}
	c := chatgen.NewChild(events.Key{Tenant: "acme", Chat: "parent"}, b)
	c.Answer(chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask))
	ends(c, call(1), events.ChildCompleted, events.ToolOK)
	c.Answer(events.Text("done"))
	c.Send("and?")
	c.Answer(events.Text("that is all"))
	return over(t, c)
}

// recalledStory is a child whose parent waits no more while it works.
func recalledStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	b := chatgen.BirthFor(events.Key{Tenant: "acme", Chat: "parent"}, call(1))
	c := chatgen.NewChild(events.Key{Tenant: "acme", Chat: "parent"}, b)
	c.Handle(chat.Recall{Parent: b.Parent})
	c.Fire()
	return over(t, c)
}

// stillbornStory is a child that is made when its parent waits no more.
func stillbornStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	b := chatgen.BirthFor(events.Key{Tenant: "acme", Chat: "parent"}, call(1))
	b.Stopped = true
	return over(t, chatgen.NewChild(events.Key{Tenant: "acme", Chat: "parent"}, b))
}

func childMutations() []mutation {
	spawned := func(n int, with func(*events.ChildSpawned)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	ended := func(n int, with func(*events.ChildEnded)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return []mutation{
		{verify.RuleSteps, "dropped: the child of a call", parentStory, func(l log) log { return l.drop(nth[events.ChildSpawned](l, 2)) }},
		{verify.RuleChildren, "dropped: the child of a call that ends", parentStory, func(l log) log { return l.drop(nth[events.ChildSpawned](l, 1)) }},
		{verify.RuleChildren, "dropped: the end of a child", parentStory, func(l log) log { return l.drop(nth[events.ChildEnded](l, 1)) }},
		{verify.RuleChildren, "dropped: the end of a child that is given up", parentStory, func(l log) log { return l.drop(nth[events.ChildEnded](l, 3)) }},
		{verify.RuleChildren, "dropped: the result of a child", parentStory, func(l log) log { return l.drop(nth[events.ToolCompleted](l, 3)) }},
		{verify.RuleChildren, "repeated: the child of a call", parentStory, func(l log) log { return l.repeat(nth[events.ChildSpawned](l, 1)) }},
		{verify.RuleChildren, "repeated: the end of a child", parentStory, func(l log) log { return l.repeat(nth[events.ChildEnded](l, 1)) }},
		{verify.RuleResults, "repeated: the result of a child", parentStory, func(l log) log { return l.repeat(nth[events.ToolCompleted](l, 3)) }},
		{verify.RuleChildren, "swapped: the ends of two children", parentStory, func(l log) log {
			return l.swap(nth[events.ChildEnded](l, 1), nth[events.ChildEnded](l, 2))
		}},
		{verify.RuleChildren, "swapped: the end of a child and the result of its call", parentStory, func(l log) log {
			return l.swap(nth[events.ChildEnded](l, 1), nth[events.ToolCompleted](l, 3))
		}},
		{verify.RuleChildren, "moved: the end of a child to before its result's commit", parentStory, func(l log) log {
			return l.move(nth[events.ChildEnded](l, 1), nth[events.ToolCompleted](l, 2))
		}},
		{verify.RuleSteps, "moved: the child of a call later than it can begin", parentStory, func(l log) log {
			return l.move(nth[events.ChildSpawned](l, 2), nth[events.ToolCompleted](l, 2))
		}},
		{verify.RuleInterrupts, "moved: the child of a call past the request to interrupt", parentStory, func(l log) log {
			return l.move(nth[events.ChildSpawned](l, 12), nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleChildren, "changed: the name of a child", parentStory, spawned(1, func(e *events.ChildSpawned) { e.Child = "another" })},
		{verify.RuleChildren, "changed: how deep a child is", parentStory, spawned(1, func(e *events.ChildSpawned) { e.Depth++ })},
		{verify.RuleBounds, "changed: how long a child is waited for", parentStory, spawned(1, func(e *events.ChildSpawned) { e.Due = e.Due.Add(time.Hour) })},
		{verify.RuleBounds, "changed: a child is hardly waited for", parentStory, spawned(1, func(e *events.ChildSpawned) { e.Due = e.Due.Add(-time.Hour) })},
		{verify.RuleChildren, "changed: whose child a call has", parentStory, spawned(1, func(e *events.ChildSpawned) { e.Call = call(2) })},
		{verify.RuleLicence, "changed: a call that says no task gets a child", parentStory, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Arguments = chatgen.ArgumentsCut
			})
		}},
		{verify.RuleChildren, "changed: a call of another tool gets a child", parentStory, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Name = chatgen.ToolRead
			})
		}},
		{verify.RuleChildren, "changed: nine children are open", parentStory, func(l log) log {
			return l.move(nth[events.ChildSpawned](l, 12), nth[events.ChildSpawned](l, 11))
		}},
		{verify.RuleChildren, "changed: another child ends", parentStory, ended(1, func(e *events.ChildEnded) { e.Child = "another" })},
		{verify.RuleChildren, "changed: a child ends as none can", parentStory, ended(1, func(e *events.ChildEnded) { e.Outcome = "well" })},
		{verify.RuleChildren, "changed: nobody knows of a child that reports", parentStory, ended(1, func(e *events.ChildEnded) { e.Outcome, e.Totals = events.ChildUnknown, events.Totals{} })},
		{verify.RuleChildren, "changed: a child that was given up has answered", parentStory, func(l log) log {
			l = change(l, 3, func(e *events.ChildEnded) { e.Outcome = events.ChildCompleted })
			return change(l, 5, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolOK, false })
		}},
		{verify.RuleChildren, "changed: a child that was given up has taken something", parentStory, ended(3, func(e *events.ChildEnded) { e.Totals.Steps = 1 })},
		{verify.RuleChildren, "changed: a child that failed has answered", parentStory, func(l log) log {
			return change(l, 4, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolOK, false })
		}},
		{verify.RuleChildren, "changed: the report of a child comes from another chat", parentStory, func(l log) log {
			l[nth[events.ChildEnded](l, 1).commit].Cause.ID = "another"
			return l
		}},
		{verify.RuleChildren, "changed: the report of a child comes from a person", parentStory, func(l log) log {
			c := &l[nth[events.ChildEnded](l, 1).commit]
			c.Cause = events.Cause{Kind: events.CausedByChat, ID: "another"}
			return l
		}},
		{verify.RuleLicence, "changed: a runner is said to be a child", parentStory, func(l log) log {
			return change(l, 3, func(e *events.ToolCompleted) { e.Runner = "r1" })
		}},
		{verify.RuleInterrupts, "dropped: the end of a call that waits for a place", parentStory, func(l log) log {
			return l.drop(nth[events.ToolCompleted](l, 7))
		}},

		{verify.RuleChain, "dropped: whom a chat works for", childStory, func(l log) log { return l.drop(spot{0, 0}) }},
		{verify.RuleChain, "repeated: whom a chat works for", childStory, func(l log) log { return l.repeat(spot{0, 0}) }},
		{verify.RuleChain, "swapped: whom a chat works for and its task", childStory, func(l log) log { return l.swap(spot{0, 0}, spot{0, 1}) }},
		{verify.RuleChildren, "moved: the work of a chat out of its first commit", childStory, func(l log) log {
			first := l[0].Events
			l[0].Events = first[:2]
			return l.insert(spot{1, len(l[1].Events) - 1}, first[2])
		}},
		{verify.RuleChildren, "changed: whom a chat works for", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Parent.Chat = "another" })
		}},
		{verify.RuleChildren, "changed: for which call a chat works", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Parent.Call.Ordinal++ })
		}},
		{verify.RuleChildren, "changed: a chat works for one that works for it", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Parent.Chat = l[0].Key.Chat })
		}},
		{verify.RuleChildren, "changed: a chat is deeper than any may be", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Depth = events.MaxDepth + 1 })
		}},
		{verify.RuleChildren, "changed: a chat at the last depth delegates", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Depth = events.MaxDepth })
		}},
		{verify.RuleChildren, "changed: a chat works for nobody, and is at depth 0", childStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Depth = 0 })
		}},
		{verify.RuleChildren, "changed: who made a chat", childStory, func(l log) log {
			l[0].Cause.ID = "another/1.1.1"
			return l
		}},
		{verify.RuleInputs, "changed: the name of a task", childStory, func(l log) log {
			l = change(l, 1, func(e *events.InputAccepted) { e.Input = "task-2-1-1" })
			return change(l, 1, func(e *events.TurnStarted) { e.Inputs = []string{"task-2-1-1"} })
		}},
		{verify.RuleInputs, "changed: a later input is said to be a task", childStory, func(l log) log {
			l[nth[events.InputAccepted](l, 2).commit].Cause = l[0].Cause
			return l
		}},

		{verify.RuleChildren, "changed: a later turn is stopped by a parent", recalledStory, func(l log) log {
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Turn = 2 })
		}},
		{verify.RuleChildren, "changed: a chat that is not the parent stops a turn", recalledStory, func(l log) log {
			l[1].Cause.ID = "another/1.1.1"
			return l
		}},
		{verify.RuleChildren, "changed: a parent stops a turn for another reason", recalledStory, func(l log) log {
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Reason = "enough" })
		}},
		{verify.RuleCommands, "changed: a chat is made stopped for another reason", stillbornStory, func(l log) log {
			return change(l, 1, func(e *events.TurnInterruptRequested) { e.Reason = "enough" })
		}},
	}
}
