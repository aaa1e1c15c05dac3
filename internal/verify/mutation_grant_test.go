package verify_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// grantsStory is a chat whose children have shares of its budget: one reports, one
// comes to the end of its own, and nobody waits for the third.
func grantsStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{
		Tools:  &[]string{chat.ToolDelegate},
		Budget: &events.Budget{Tokens: 1000, CostMicros: 5000, TimeMS: 60_000}, ChatBudget: &events.Budget{Tokens: 900},
	})
	c.Send("one")
	delegate := chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask)
	c.Spend(100, new(int64(100)), delegate, delegate, delegate)
	for i, outcome := range []events.ChildOutcome{events.ChildCompleted, events.ChildBudget} {
		call := events.CallID{Turn: 1, Step: 1, Ordinal: i + 1}
		c.Handle(chat.Report{
			Call: call, Child: protocol.ChildKey(c.Key(), call).Chat, Outcome: outcome, Status: events.ToolError,
			Parts: []events.Part{events.Text("done")}, Spent: events.Spending{Tokens: 50, CostMicros: 60},
		})
	}
	c.Handle(chat.TimerDue{Name: protocol.TimerName{Kind: protocol.TimerDeadline, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 3}}})
	c.Spend(10, new(int64(1)), events.Text("done"))
	return over(t, c)
}

// grantedStory is a child that uses up what it was granted.
func grantedStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	b := chatgen.BirthFor(ann, call(1))
	b.Granted = events.Budget{Tokens: 100}
	c := chatgen.NewChild(ann, b)
	c.Spend(120, nil, chatgen.Call(chatgen.ToolRead, ""))
	c.Claim(call(1), 1)
	c.Result(call(1), events.ToolOK, "done")
	return over(t, c)
}

func grantMutations() []mutation {
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, grantsStory, mutate}
	}
	spawned := func(n int, with func(*events.ChildSpawned)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return []mutation{
		of(verify.RuleBounds, "changed: a child is granted more than is left", spawned(1, func(e *events.ChildSpawned) { e.Granted.Tokens = 801 })),
		of(verify.RuleBounds, "changed: the grants together are more than is left", spawned(2, func(e *events.ChildSpawned) { e.Granted.Tokens = 601 })),
		of(verify.RuleBounds, "changed: a grant without a bound", spawned(1, func(e *events.ChildSpawned) { e.Granted.CostMicros = 0 })),
		of(verify.RuleBounds, "changed: another time is granted", spawned(1, func(e *events.ChildSpawned) { e.Granted.TimeMS++ })),
		of(verify.RuleBounds, "changed: what an unknown child counts as", func(l log) log {
			return change(l, 3, func(e *events.ChildEnded) { e.Spent.Tokens-- })
		}),
		of(verify.RuleBounds, "changed: a child gives something back", func(l log) log {
			return change(l, 1, func(e *events.ChildEnded) { e.Spent.Tokens = -1 })
		}),
		{verify.RuleBounds, "changed: a child that may spend more than it was granted", grantedStory, func(l log) log {
			return change(l, 1, func(e *events.ChatSpawned) { e.Granted.Tokens = 99 })
		}},
		{verify.RuleCommands, "dropped: why a child ends by itself", grantedStory, func(l log) log {
			return l.drop(nth[events.BudgetReached](l, 1))
		}},
	}
}
