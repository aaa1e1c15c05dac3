package verify_test

import (
	"math"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// budgetStory is a chat whose first turn has spent its tokens, then its time, and
// whose second one is stopped while it waits, since the chat has nothing left.
func budgetStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{ChatBudget: &events.Budget{CostMicros: 500}})
	c.SendWith("one", events.Budget{Tokens: 100, TimeMS: 60_000})
	c.Spend(100, new(int64(100)), chatgen.Call(chatgen.ToolRead, ""))
	c.Claim(call(1), 1)
	c.Result(call(1), events.ToolOK, "done")
	c.Wait(time.Second)
	c.Extend(events.Budget{Tokens: 100})
	c.Fire()
	c.Lose()
	c.Extend(events.Budget{TimeMS: 60_000})
	c.Spend(10, nil, events.Text("done"))
	c.Send("two")
	c.Command(protocol.Extend{V: protocol.Version, Chat: true})
	c.Spend(10, new(int64(400)), chatgen.Call(chatgen.ToolRead, ""))
	call := events.CallID{Turn: 2, Step: 1, Ordinal: 1}
	c.Claim(call, 1)
	c.Result(call, events.ToolOK, "done")
	c.Interrupt()
	return over(t, c)
}

func budgetMutations() []mutation {
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, budgetStory, mutate}
	}
	reached := func(n int, with func(*events.BudgetReached)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	extended := func(n int, with func(*events.BudgetExtended)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return []mutation{
		of(verify.RuleBounds, "dropped: the extension after which a model is asked", func(l log) log {
			return l.drop(nth[events.BudgetExtended](l, 1))
		}),
		of(verify.RuleSteps, "dropped: why no step follows", func(l log) log { return l.drop(nth[events.BudgetReached](l, 1)) }),
		of(verify.RuleOutcomes, "repeated: a turn waits for its budget twice", func(l log) log {
			return l.repeat(nth[events.BudgetReached](l, 1))
		}),
		of(verify.RuleOutcomes, "moved: a turn waits for its budget behind its answer", func(l log) log {
			return l.insert(nth[events.StepCompleted](l, 2), events.BudgetReached{
				Turn: 1, Scope: events.BudgetOfTurn, Bound: events.BoundTokens, Budget: events.Budget{Tokens: 100}, Spent: events.Spending{Tokens: 110},
			})
		}),
		of(verify.RuleOutcomes, "changed: what a turn has spent", reached(1, func(e *events.BudgetReached) { e.Spent.Tokens-- })),
		of(verify.RuleOutcomes, "changed: what a turn may spend", reached(1, func(e *events.BudgetReached) { e.Budget.Tokens++ })),
		of(verify.RuleOutcomes, "changed: a bound that is not used up", reached(1, func(e *events.BudgetReached) { e.Bound = events.BoundCost })),
		of(verify.RuleOutcomes, "changed: time is over without its timer", reached(1, func(e *events.BudgetReached) { e.Bound = events.BoundTime })),
		of(verify.RuleOutcomes, "changed: tokens are used up when the timer comes", reached(2, func(e *events.BudgetReached) { e.Bound = events.BoundTokens })),
		of(verify.RuleOutcomes, "changed: a scope that is none", reached(3, func(e *events.BudgetReached) { e.Scope = "tenant" })),
		of(verify.RuleBelonging, "changed: another turn reaches its budget", reached(1, func(e *events.BudgetReached) { e.Turn = 7 })),
		of(verify.RuleBelonging, "changed: another turn is extended", extended(1, func(e *events.BudgetExtended) { e.Turn = 7 })),
		of(verify.RuleBounds, "changed: an extension takes away", extended(1, func(e *events.BudgetExtended) { e.Budget.Tokens = 99 })),
		of(verify.RuleOutcomes, "changed: unknown costs that nobody has seen", extended(1, func(e *events.BudgetExtended) { e.Unpriced = 3 })),
		of(verify.RuleBounds, "changed: what an attempt cost", func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.CostMicros = new(int64(-1)) })
		}),
		of(verify.RuleBounds, "changed: more tokens than there can be", func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Usage.Input = math.MaxInt64 })
		}),
		of(verify.RuleBounds, "changed: less than no tokens", func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Usage.CacheRead = -1 })
		}),
		of(verify.RuleBounds, "changed: more money than can be counted", func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.CostMicros = new(int64(math.MaxInt64)) })
		}),
		of(verify.RuleInterrupts, "moved: an extension behind the request to end", func(l log) log {
			return l.insert(nth[events.TurnInterruptRequested](l, 1), events.BudgetExtended{Turn: 2, Scope: events.BudgetOfTurn, Unpriced: 0})
		}),
		of(verify.RuleCommands, "changed: a command that extends nothing", func(l log) log {
			s := nth[events.BudgetExtended](l, 1)
			l[s.commit].Cause.Verb = string(protocol.VerbRename)
			return l
		}),
	}
}

// The first release wrote down whatever a provider counted, and summed it up.
func TestWhatTheFirstReleaseCountedIsNotJudged(t *testing.T) {
	t.Parallel()
	c := begun()
	c.Answer(events.Text("done"))
	l := logOf(over(t, c))
	l = change(l, 1, func(e *events.TurnStarted) { e.Rules = 1 })
	l = change(l, 1, func(e *events.StepCompleted) { e.Usage = events.Usage{Input: math.MaxInt64, Output: -3} })
	l = change(l, 1, func(e *events.TurnCompleted) { e.Totals.Usage = events.Usage{Input: math.MinInt64, Output: -3} })
	for _, v := range check(l.chainOf(t, c.Key()), verify.Options{Idle: true, Schema: schema, Blob: blobs(c)}) {
		if v.Rule == verify.RuleBounds || v.Rule == verify.RuleOutcomes {
			t.Errorf("%s", v)
		}
	}
}
