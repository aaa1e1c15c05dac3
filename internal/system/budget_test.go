package system

import (
	"context"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// What each answer of a priced model takes.
const (
	tokensEach = 10
	microsEach = 100
)

// priced calls a tool in each step of a turn until the last one, and says what each
// answer took and cost. Before each it does what it is given to do.
func priced(steps int, before func(ctx context.Context, step int)) asModel {
	return func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
		step := 1
		for _, m := range r.Messages {
			switch m.Role {
			case model.RoleUser:
				step = 1
			case model.RoleAssistant:
				step++
			case model.RoleTool:
			}
		}
		answer := &model.Answer{Usage: events.Usage{Output: tokensEach}, CostMicros: new(int64(microsEach))}
		answer.Parts, answer.Stop = []events.Part{events.Text(fmt.Sprintf("That took %d steps.", steps))}, events.StopEnd
		if step < steps {
			answer.Parts, answer.Stop = []events.Part{{Type: events.PartCall, Ordinal: 1, Name: "ping", Arguments: "{}"}}, events.StopCalls
		}
		return func(yield func(model.Delta, error) bool) {
			if before != nil {
				before(ctx, step)
			}
			yield(model.Delta{Answer: answer}, nil)
		}
	}
}

// waits returns when the chat waits for a budget the n-th time.
func (c *chat) waits(n int) events.BudgetReached {
	c.Helper()
	h := c.until(fmt.Sprintf("a budget is used up %d times", n), func(h history) bool { return len(all[events.BudgetReached](h)) >= n })
	return all[events.BudgetReached](h)[n-1]
}

func (c *chat) sendWith(text string, b events.Budget) protocol.Reply {
	c.Helper()
	body := send(text)
	body.Settings = &events.Settings{Budget: &b}
	return c.do(body)
}

// Rule: S1.1.6.
func TestS1_1_6_ABudgetThatIsUsedUpIsExtended(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, priced(4, nil))

	turn := c.sendWith("go", events.Budget{Tokens: tokensEach + 1}).Turn
	e := c.waits(1)
	if e.Scope != events.BudgetOfTurn || e.Bound != events.BoundTokens || e.Spent != (events.Spending{Tokens: 2 * tokensEach, CostMicros: 2 * microsEach}) {
		t.Errorf("reached %+v", e)
	}
	if n := len(c.model.asked()); n != 2 {
		t.Errorf("the model was asked %d times", n)
	}
	if head := c.transcript().Head; head.Reached == nil || head.Turn != turn {
		t.Errorf("people read %+v", head)
	}
	if no := c.refused(protocol.Extend{V: protocol.Version, Turn: turn, Add: events.Budget{CostMicros: 1}}); no.Code != events.CodeInvalidSettings {
		t.Errorf("more of what is not bounded: %+v", no)
	}
	c.do(protocol.Extend{V: protocol.Version, Turn: turn, Add: events.Budget{Tokens: tokensEach}}) // for one more step
	if e := c.waits(2); e.Spent.Tokens != 3*tokensEach {
		t.Errorf("reached %+v", e)
	}
	c.do(protocol.Extend{V: protocol.Version, Turn: turn, Add: events.Budget{Tokens: events.Unlimited}})
	if h := c.ended(turn); h.finalText() != "That took 4 steps." || len(all[events.BudgetReached](h)) != 2 {
		t.Errorf("it ended as\n%s", h)
	}
	if head := c.transcript().Head; head.Reached != nil {
		t.Errorf("people read %+v", head)
	}
	c.stillWorks()
}

// Rules: S1.1.6, S6.2.
func TestS1_1_6_TheBudgetOfAChatHoldsAllItsTurns(t *testing.T) {
	t.Parallel()
	s := running(t, options{})
	c := s.chat(t, priced(2, nil))
	c.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{ChatBudget: &events.Budget{CostMicros: 3 * microsEach}}})

	c.turn("one")
	second := c.do(send("two")).Turn
	e := c.waits(1)
	if e.Turn != second || e.Scope != events.BudgetOfChat || e.Bound != events.BoundCost || e.Spent.CostMicros != 3*microsEach {
		t.Errorf("reached %+v", e)
	}
	c.do(interrupt(second))
	h := c.ended(second)
	if len(all[events.TurnInterrupted](h)) != 1 {
		t.Errorf("it ended as\n%s", h)
	}
	third := c.do(send("three")).Turn
	if e := c.waits(2); e.Turn != third || e.Scope != events.BudgetOfChat {
		t.Errorf("reached %+v", e)
	}
	if n := len(c.model.asked()); n != 3 {
		t.Errorf("the model was asked %d times", n)
	}
	c.do(protocol.Extend{V: protocol.Version, Chat: true, Add: events.Budget{CostMicros: 9 * microsEach}})
	c.ended(third)
	c.stillWorks()
}

// When the time of a turn is over the answer that is under way is heard to its end,
// and its calls run; then the turn waits, though nobody is there to extend it.
//
// Rule: S1.1.6.
func TestS1_1_6_TimeIsOverWhileAModelAnswers(t *testing.T) {
	t.Parallel()
	const allowed = 300 * time.Millisecond
	s := running(t, options{})
	goOn := make(chan struct{})
	c := s.chat(t, priced(2, func(ctx context.Context, step int) {
		if step > 1 {
			return
		}
		select {
		case <-goOn:
		case <-ctx.Done():
		}
	}))
	turn := c.sendWith("go", events.Budget{TimeMS: allowed.Milliseconds()}).Turn
	e := c.waits(1)
	began := all[events.TurnStarted](c.read())[0].At
	if e.Bound != events.BoundTime || e.At.Sub(began) < allowed {
		t.Errorf("reached %+v, began %v", e, began.Time())
	}
	close(goOn)
	h := c.until("its call has a result", func(h history) bool { return len(all[events.ToolCompleted](h)) == 1 })
	if n := len(all[events.StepRequested](h)); n != 1 {
		t.Errorf("%d steps were asked for", n)
	}
	c.do(protocol.Extend{V: protocol.Version, Turn: turn, Add: events.Budget{TimeMS: time.Minute.Milliseconds()}})
	if h := c.ended(turn); h.finalText() != "That took 2 steps." {
		t.Errorf("it ended as\n%s", h)
	}
	c.stillWorks()
}
