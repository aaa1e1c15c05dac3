package chat_test

import (
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// sendWith says something under a budget of the turn.
func (s *story) sendWith(b events.Budget) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}, Settings: &events.Settings{Budget: &b}})
	return list
}

// uses ends the open attempt with parts, for that many tokens.
func (s *story) uses(tokens int64, cost *int64, parts ...events.Part) []events.Event {
	s.t.Helper()
	m := s.ended(&model.Answer{Parts: parts, Stop: events.StopEnd, Usage: events.Usage{Input: tokens}, CostMicros: cost}, nil)
	if len(parts) > 0 && parts[0].Type == events.PartCall {
		m.Answer.Stop = events.StopCalls
	}
	return s.tell(m)
}

func (s *story) extend(add events.Budget) []events.Event {
	s.t.Helper()
	_, list := s.command(protocol.Extend{V: 1, Add: add})
	return list
}

func outOfTime(turn, number int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerBudget, Turn: turn, Number: number})
}

// timerOf is what the state owes of that kind, nil if nothing.
func timerOf(t *testing.T, s chat.State, kind protocol.TimerKind) *protocol.Timer {
	t.Helper()
	for _, w := range chat.Owed(s) {
		timer, ok := w.(protocol.Timer)
		if !ok {
			continue
		}
		name, err := protocol.ParseTimerName(timer.Name)
		if err != nil {
			t.Fatal(err)
		}
		if name.Kind == kind {
			return &timer
		}
	}
	return nil
}

func TestS1_1_6_ABudgetThatIsUsedUp(t *testing.T) {
	t.Parallel()
	look := call("look", "{}")

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S1.1.6 at the boundary the turn waits, and goes on when there is more", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 100})
			wants(t, s.uses(99, nil, look), "step.completed", "tool.requested")
			wants(t, s.result(id(1, 1, 1), events.ToolOK, "seen"), "tool.completed", "step.requested")
			wants(t, s.uses(1, nil, look), "step.completed", "tool.requested") // what it has called goes on
			list := s.result(id(1, 2, 1), events.ToolOK, "seen")
			wants(t, list, "tool.completed", "budget.reached")
			e := find[events.BudgetReached](t, list)
			if e.Turn != 1 || e.Scope != events.BudgetOfTurn || e.Bound != events.BoundTokens || e.Spent.Tokens != 100 || e.Budget.Tokens != 100 {
				t.Errorf("reached %+v", e)
			}
			if owed := chat.Owes(s.state); owed != "" {
				t.Errorf("owes %q", owed)
			}
			s.state = reloaded(t, s.state)
			list = s.extend(events.Budget{Tokens: 50})
			wants(t, list, "budget.extended", "step.requested")
			if e := find[events.BudgetExtended](t, list); e.Budget.Tokens != 150 || e.By != "user:ann" {
				t.Errorf("extended %+v", e)
			}
			wants(t, s.uses(60, nil, events.Text("done")), "step.completed", "turn.completed")
			s.answers()
		}},
		{"an answer that ends the turn ends it, whatever it took", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 1})
			wants(t, s.uses(1000, nil, events.Text("long")), "step.completed", "turn.completed")
			s.answers() // its budget was that turn's
		}},
		{"money, and attempts of unknown cost", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{CostMicros: 100})
			s.uses(10, new(int64(10)), look)
			s.result(id(1, 1, 1), events.ToolOK, "seen")
			s.uses(10, nil, look)
			list := s.result(id(1, 2, 1), events.ToolOK, "seen")
			wants(t, list, "tool.completed", "budget.reached")
			if e := find[events.BudgetReached](t, list); e.Bound != events.BoundCost || e.Spent != (events.Spending{Tokens: 20, CostMicros: 10, Unpriced: 1}) {
				t.Errorf("reached %+v", e)
			}
			list = s.extend(events.Budget{})
			wants(t, list, "budget.extended", "step.requested")
			if e := find[events.BudgetExtended](t, list); e.Unpriced != 1 || e.Budget.CostMicros != 100 {
				t.Errorf("extended %+v", e)
			}
			wants(t, s.uses(10, new(int64(1)), look), "step.completed", "tool.requested")
			wants(t, s.result(id(1, 3, 1), events.ToolOK, "seen"), "tool.completed", "step.requested")
			s.uses(1, new(int64(1)), events.Text("done"))
			s.answers()
		}},
		{"failed attempts count, and no further one is made", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			s.fail(model.Error{Class: events.ClassOverloaded, Usage: events.Usage{Input: 10}})
			if timerOf(t, s.state, protocol.TimerRetry) == nil {
				t.Fatal("no retry")
			}
			wants(t, s.tell(retryDue(1)), "budget.reached")
			wants(t, s.tell(retryDue(1)))
			if owed := chat.Owes(s.state); owed != "" {
				t.Errorf("owes %q", owed)
			}
			wants(t, s.extend(events.Budget{Tokens: 10}), "budget.extended")
			if timerOf(t, s.state, protocol.TimerRetry) == nil {
				t.Fatal("the next attempt is forgotten")
			}
			if timer := timerOf(t, s.state, protocol.TimerRetry); timer.Name != "retry-1-1-1-1" {
				t.Errorf("the timer %s may still be on its way out", timer.Name)
			}
			wants(t, s.tell(retryDue(1))) // the one that came before
			again := retryDue(1)
			again.Name.Number = 1
			wants(t, s.tell(again), "step.requested")
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"a crashed attempt is followed when there is more", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{TimeMS: 1000})
			wants(t, s.tell(outOfTime(1, 1)), "budget.reached")
			wants(t, s.tell(chat.AttemptLost{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}), "step.failed")
			wants(t, s.extend(events.Budget{TimeMS: 1000}), "budget.extended", "step.requested")
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"time passes while a model is asked; what runs goes on", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{TimeMS: 60_000})
			timer := timerOf(t, s.state, protocol.TimerBudget)
			if timer == nil || timer.Name != "budget-1-1" || timer.Due != noon.Add(time.Minute) {
				t.Fatalf("timer %+v", timer)
			}
			wants(t, s.tell(outOfTime(1, 2)))
			wants(t, s.tell(outOfTime(2, 1)))
			s.at = noon.Add(61 * time.Second)
			list := s.tell(outOfTime(1, 1))
			wants(t, list, "budget.reached")
			if e := find[events.BudgetReached](t, list); e.Bound != events.BoundTime || e.At != s.at {
				t.Errorf("reached %+v", e)
			}
			wants(t, s.tell(outOfTime(1, 1)))
			wants(t, s.answer(look), "step.completed", "tool.requested")
			wants(t, s.result(id(1, 1, 1), events.ToolOK, "seen"), "tool.completed")
			s.at = noon.Add(time.Hour)
			wants(t, s.extend(events.Budget{TimeMS: 30_000}), "budget.extended", "step.requested")
			timer = timerOf(t, s.state, protocol.TimerBudget)
			if want := s.at.Add(29 * time.Second); timer == nil || timer.Name != "budget-1-2" || timer.Due != want {
				t.Errorf("timer %+v, want it due at %v", timer, want) // a second of it was gone already
			}
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"S6 whoever waits for a budget can be interrupted at once", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			s.uses(10, nil, look)
			s.result(id(1, 1, 1), events.ToolOK, "seen")
			_, list := s.command(protocol.Interrupt{V: 1})
			wants(t, list, "turn.interrupt_requested", "turn.interrupted")
			refusal(t, s, protocol.Extend{V: 1, Add: events.Budget{Tokens: 1}}, events.CodeNotRunning, "")
			refusal(t, s, protocol.Extend{V: 1, Turn: 1, Add: events.Budget{Tokens: 1}}, events.CodeAlreadyFinished, "")
			s.answers()
		}},
		{"a turn that is being interrupted is not extended", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10, TimeMS: 1000})
			s.command(protocol.Interrupt{V: 1})
			refusal(t, s, protocol.Extend{V: 1, Add: events.Budget{Tokens: 1}}, events.CodeAlreadyFinished, "interrupting")
			if timerOf(t, s.state, protocol.TimerBudget) != nil {
				t.Error("its time still counts")
			}
			wants(t, s.tell(outOfTime(1, 1)))
			s.tell(s.interrupted("half"))
			s.answers()
		}},
		{"S5.2 what steers is taken when there is more", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			s.sendAs(events.ModeSteer, "and that")
			wants(t, s.uses(10, nil, events.Text("b")), "step.completed", "budget.reached")
			wants(t, s.extend(events.Budget{Tokens: 10}), "budget.extended", "input.steered", "step.requested")
			s.answer(events.Text("c"))
			s.answers()
		}},
		{"S6 what was to steer a turn that is stopped begins the next one", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			s.sendAs(events.ModeSteer, "and that")
			wants(t, s.uses(10, nil, events.Text("b")), "step.completed", "budget.reached")
			_, list := s.command(protocol.Interrupt{V: 1})
			wants(t, list, "turn.interrupt_requested", "turn.interrupted", "turn.started", "step.requested")
			s.answer(events.Text("c"))
			s.answers()
		}},
		{"a turn that is extended too little waits again", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			s.uses(30, nil, look)
			s.result(id(1, 1, 1), events.ToolOK, "seen")
			wants(t, s.extend(events.Budget{Tokens: 20}), "budget.extended", "budget.reached")
			wants(t, s.extend(events.Budget{Tokens: events.Unlimited}), "budget.extended", "step.requested")
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"nothing is added to a bound that is not set", func(t *testing.T, s *story) {
			s.sendWith(events.Budget{Tokens: 10})
			refusal(t, s, protocol.Extend{V: 1, Add: events.Budget{CostMicros: 1}}, events.CodeInvalidSettings, "")
			refusal(t, s, protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 1}}, events.CodeInvalidSettings, "")
			refusal(t, s, protocol.Extend{V: 1, Add: events.Budget{Tokens: -2}}, events.CodeBadCommand, "")
			refusal(t, s, protocol.Extend{V: 1, Turn: 7, Add: events.Budget{Tokens: 1}}, events.CodeUnknownTurn, "")
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"S7.3 a review that nobody pays is a person's", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Reviewer: "judge"}})
			s.sendWith(events.Budget{Tokens: 10})
			list := s.uses(10, nil, call(reviewedTools()[0].Name, "{}"))
			wants(t, list, "step.completed", "approval.requested")
		}},
		{"S12 the budget of a chat is for all its turns", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{ChatBudget: &events.Budget{Tokens: 100}}})
			s.send("a")
			s.uses(100, nil, events.Text("b"))
			list := s.send("c")
			wants(t, list, "input.accepted", "turn.started", "budget.reached")
			if e := find[events.BudgetReached](t, list); e.Scope != events.BudgetOfChat || e.Spent.Tokens != 100 {
				t.Errorf("reached %+v", e)
			}
			refusal(t, s, protocol.Extend{V: 1, Add: events.Budget{Tokens: 10}}, events.CodeInvalidSettings, "")
			_, list = s.command(protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 10}})
			wants(t, list, "budget.extended", "step.requested")
			s.uses(10, nil, events.Text("d"))
			_, list = s.command(protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 10}})
			wants(t, list, "budget.extended")
			s.state = reloaded(t, s.state)
			wants(t, s.send("e"), "input.accepted", "turn.started", "step.requested")
			s.uses(10, nil, events.Text("f"))
			s.command(protocol.Configure{V: 1, Settings: events.Settings{ChatBudget: &events.Budget{Tokens: events.Unlimited}}})
			s.answers()
		}},
		{"no summary is written of a chat that has nothing left", func(t *testing.T, s *story) {
			for range 12 {
				s.send("a")
				s.uses(100, nil, events.Text("b"))
			}
			s.command(protocol.Configure{V: 1, Settings: events.Settings{ChatBudget: &events.Budget{Tokens: 1}}})
			refusal(t, s, protocol.Compact{V: 1}, events.CodeLimitReached, "")
		}},
		{"S12 a title counts for the chat, and none is proposed of one that has nothing left", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "namer", ChatBudget: &events.Budget{Tokens: 20}}})
			s.send("a")
			wants(t, s.uses(20, nil, events.Text("b")), "step.completed", "turn.completed")
			s.command(protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: 20}})
			s.send("c")
			wants(t, s.uses(10, nil, events.Text("d")), "step.completed", "turn.completed", "step.requested") // there is something
			s.uses(10, nil, events.Text("A title"))
			list := s.send("e")
			wants(t, list, "input.accepted", "turn.started", "budget.reached")
			if e := find[events.BudgetReached](t, list); e.Scope != events.BudgetOfChat || e.Spent.Tokens != 40 {
				t.Errorf("reached %+v", e)
			}
			s.command(protocol.Extend{V: 1, Chat: true, Add: events.Budget{Tokens: events.Unlimited}})
			s.answer(events.Text("f"))
			s.answers()
		}},
		{"S12 nobody is asked again for a title that nobody pays", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Titler: "namer", ChatBudget: &events.Budget{Tokens: 20}}})
			s.send("a")
			wants(t, s.uses(10, nil, events.Text("b")), "step.completed", "turn.completed", "step.requested")
			s.send("c")
			wants(t, s.tell(chat.AttemptEnded{
				Step: events.StepID{Turn: 2, Step: 1}, Attempt: 1,
				Answer: &model.Answer{Parts: []events.Part{events.Text("d")}, Stop: events.StopEnd, Usage: events.Usage{Input: 10}},
			}), "step.completed", "turn.completed")
			wants(t, s.tell(chat.AttemptLost{Step: events.StepID{Step: 1}, Attempt: 1}), "step.interrupted")
			s.command(protocol.Configure{V: 1, Settings: events.Settings{ChatBudget: &events.Budget{Tokens: events.Unlimited}}})
			s.answers()
		}},
		{"settings that are none", func(t *testing.T, s *story) {
			for _, wrong := range []events.Settings{
				{Budget: &events.Budget{Tokens: -2}},
				{Budget: &events.Budget{CostMicros: events.MaxBudget + 1}},
				{Budget: &events.Budget{TimeMS: events.MaxBudgetTime.Milliseconds() + 1}},
				{ChatBudget: &events.Budget{TimeMS: 1}},
				{ChatBudget: &events.Budget{Tokens: -2}},
			} {
				refusal(t, s, protocol.Configure{V: 1, Settings: wrong}, events.CodeInvalidSettings, "")
			}
			refusal(t, s, protocol.Send{
				V: 1, Parts: []events.Part{events.Text("a")}, Settings: &events.Settings{ChatBudget: &events.Budget{Tokens: 5}},
			}, events.CodeInvalidSettings, "")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}
