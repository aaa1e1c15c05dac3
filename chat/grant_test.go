package chat_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// grantsFamily is a parent that may spend so much in its turn.
func grantsFamily(t *testing.T, b events.Budget) *story {
	t.Helper()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: new([]string{"delegate", "look"}), Budget: &b}})
	s.send("do it")
	return s
}

// However many children there are and whatever each takes: all together and the
// parent spend no more than the budget, and one step of each.
func TestS11_FiftyChildrenUnderOneBudget(t *testing.T) {
	t.Parallel()
	const budget, children, step = 4_000, 50, 30
	s := grantsFamily(t, events.Budget{Tokens: budget})
	s.delegates(children)
	spent, ended := int64(0), 0
	for ended < children {
		open := s.state.OpenChildren()
		if len(open) == 0 {
			break // it waits for more
		}
		for range min(3, len(open)) {
			id := s.state.OpenChildren()[0]
			birth, _ := s.state.BirthOf(id)
			if birth.Granted.Tokens < 1 {
				t.Fatalf("call %s is granted %+v", id, birth.Granted)
			}
			child, took := s.child(id), int64(0)
			for running := true; running; _, running = child.state.Running() {
				took += step
				if ended%2 == 0 && took > step {
					child.uses(step, nil, events.Text("done"))
					continue
				}
				child.uses(step, nil, call("look", "{}"))
				child.result(events.CallID{Turn: 1, Step: int(took / step), Ordinal: 1}, events.ToolOK, "seen")
			}
			if took > birth.Granted.Tokens+step {
				t.Fatalf("call %s was granted %+v, and its child took %d", id, birth.Granted, took)
			}
			e := find[events.ChildEnded](t, s.reports(child))
			if e.Spent.Tokens != took || e.Outcome != events.ChildCompleted && e.Outcome != events.ChildBudget {
				t.Fatalf("%+v, it took %d", e, took)
			}
			spent, ended = spent+took, ended+1
		}
	}
	if spent > budget+step*children {
		t.Errorf("%d children took %d of %d", ended, spent, budget)
	}
	if ended < children {
		wants(t, s.log[len(s.log)-1].Events, "child.ended", "tool.completed", "budget.reached")
	}
}

func TestS11_TheBudgetOfTheChildIsAnErrorResult(t *testing.T) {
	t.Parallel()
	s := grantsFamily(t, events.Budget{Tokens: 300, TimeMS: 60_000})
	s.delegates(2)
	child := s.child(id(1, 1, 1))
	born := child.log[0].Events[0].(events.ChatSpawned)
	if want := (events.Budget{Tokens: 100, TimeMS: 60_000}); born.Granted != want {
		t.Fatalf("granted %+v, want %+v", born.Granted, want)
	}
	if e, _ := child.state.Effective(); e.Budget != born.Granted {
		t.Errorf("its turn has %+v", e.Budget)
	}
	refusal(t, child, protocol.Extend{V: 1, Add: events.Budget{Tokens: 1}}, events.CodeLimitReached, "")
	child.uses(110, nil, call("look", "{}"))
	list := child.result(id(1, 1, 1), events.ToolOK, "seen")
	wants(t, list, "tool.completed", "budget.reached", "turn.interrupt_requested", "turn.interrupted")
	list = s.reports(child)
	wants(t, list, "child.ended", "tool.completed")
	if e := find[events.ChildEnded](t, list); e.Outcome != events.ChildBudget || e.Spent != (events.Spending{Tokens: 110, Unpriced: 1}) {
		t.Errorf("%+v", e)
	}
	if r := find[events.ToolCompleted](t, list); r.Status != events.ToolError || !r.IsError {
		t.Errorf("result %+v", r)
	}
	child.send("and now?") // which is nobody else's
	child.uses(500, nil, events.Text("b"))
	if e, _ := child.state.Effective(); e.Budget.Limits() {
		t.Errorf("its second turn has %+v", e.Budget)
	}
	quick := s.child(id(1, 1, 2))
	quick.uses(10, nil, events.Text("done"))
	wants(t, s.reports(quick), "child.ended", "tool.completed", "step.requested")
	list = s.uses(180, nil, call("look", "{}")) // with its children it has used up all
	wants(t, list, "step.completed", "tool.requested")
	list = s.result(id(1, 2, 1), events.ToolOK, "seen")
	wants(t, list, "tool.completed", "budget.reached")
	if e := find[events.BudgetReached](t, list); e.Spent.Tokens != 300 {
		t.Errorf("reached %+v", e)
	}
}

func TestS11_WhatNobodyKnowsCountsInFull(t *testing.T) {
	t.Parallel()
	s := grantsFamily(t, events.Budget{Tokens: 300})
	s.delegates(2)
	s.child(id(1, 1, 1))
	list := s.tell(due(protocol.TimerName{Kind: protocol.TimerDeadline, Call: id(1, 1, 1)}))
	if e := find[events.ChildEnded](t, list); e.Outcome != events.ChildUnknown || e.Spent != (events.Spending{Tokens: 100, Unpriced: 1}) {
		t.Errorf("%+v", e)
	}
}

func TestS11_NobodyIsSpawnedWhileATurnWaitsForItsBudget(t *testing.T) {
	t.Parallel()
	s := grantsFamily(t, events.Budget{Tokens: 100})
	list := s.uses(100, nil, call("delegate", `{"task":"one"}`), call("delegate", `{"task":"two"}`), call("look", "{}"))
	wants(t, list, "step.completed", "budget.reached", "tool.requested")
	if owed := told(chat.Owed(s.state)); slices.Contains(owed, "report-1-1-1") {
		t.Errorf("owes %v", owed)
	}
	wants(t, s.extend(events.Budget{Tokens: 30}), "budget.extended", "child.spawned", "child.spawned")
	for n, e := range every[events.ChildSpawned](s) {
		if want := []int64{10, 10}[n]; e.Granted.Tokens != want {
			t.Errorf("child %d is granted %+v, want %d", n+1, e.Granted, want)
		}
	}
	_, list = s.command(protocol.Interrupt{V: 1})
	find[events.TurnInterruptRequested](t, list)
}

func TestS11_TimeOfAChildIsThatOfItsParent(t *testing.T) {
	t.Parallel()
	s := grantsFamily(t, events.Budget{TimeMS: 60_000})
	s.at = noon.Add(20 * time.Second)
	if e := find[events.ChildSpawned](t, s.delegates(1)); e.Granted != (events.Budget{TimeMS: 40_000}) {
		t.Fatalf("granted %+v", e.Granted)
	}
	child := s.child(id(1, 1, 1))
	wants(t, child.tell(outOfTime(1, 1)), "budget.reached", "turn.interrupt_requested")
	child.tell(child.interrupted("half"))
	wants(t, s.tell(outOfTime(1, 1)), "budget.reached")
	list := s.reports(child)
	wants(t, list, "child.ended", "tool.completed")
	if e := find[events.ChildEnded](t, list); e.Outcome != events.ChildBudget {
		t.Errorf("%+v", e)
	}
	wants(t, s.extend(events.Budget{TimeMS: 60_000}), "budget.extended", "step.requested")
}

func TestS11_WhoHasNoBudgetGrantsNone(t *testing.T) {
	t.Parallel()
	s := family(t)
	if e := find[events.ChildSpawned](t, s.delegates(1)); e.Granted != (events.Budget{}) {
		t.Fatalf("granted %+v", e.Granted)
	}
	child := s.child(id(1, 1, 1))
	child.uses(10, new(int64(7)), events.Text("b"))
	s.reports(child)
	s.command(protocol.Configure{V: 1, Settings: events.Settings{ChatBudget: &events.Budget{CostMicros: 7}}})
	s.answer(events.Text("c"))
	list := s.send("d")
	if e := find[events.BudgetReached](t, list); e.Spent.CostMicros != 7 {
		t.Errorf("reached %+v", e)
	}
}

// A claim is judged by the clock of whoever has it, which may be behind the log. What
// follows from it is dated as its commit.
func TestS1_1_6_AClaimByALateClockReachesTheBudgetNow(t *testing.T) {
	t.Parallel()
	s := grantsFamily(t, events.Budget{Tokens: 100})
	s.uses(100, nil, call("look", "{}"))
	for n := range events.MaxStartsIdempotent {
		s.tell(claim(id(1, 1, 1), fmt.Sprintf("k%d", n), uint64(n)+2))
	}
	d := chat.Handle(s.state, claim(id(1, 1, 1), "last", 9), s.state.At().Add(-10*time.Second), live())
	wants(t, d.Events, "tool.completed", "budget.reached")
	if e := find[events.BudgetReached](t, d.Events); e.At != s.state.At() {
		t.Errorf("reached %v, in a commit of %v", e.At, s.state.At())
	}
}
