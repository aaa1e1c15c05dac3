package chat_test

import (
	"math"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// ★ What a provider counts may be anything; a budget is reached all the same.
func TestS1_1_6_NoCountGoesRoundABudget(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		budget events.Budget
		said   events.Usage
		cost   *int64
		bound  events.Bound
	}{
		{"a sum that does not fit", events.Budget{Tokens: 10}, events.Usage{Input: math.MaxInt64, Output: 1}, nil, events.BoundTokens},
		{"less than nothing beside something", events.Budget{Tokens: 10}, events.Usage{Input: math.MinInt64, Output: 10}, nil, events.BoundTokens},
		{"more money than there is", events.Budget{CostMicros: 10}, events.Usage{Input: 1}, new(int64(math.MaxInt64)), events.BoundCost},
		{"money that comes back", events.Budget{CostMicros: 10}, events.Usage{Input: 1}, new(int64(-5)), events.BoundCost},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.sendWith(tt.budget)
			raw := []string{`{"prompt_tokens":9223372036854775807}`}
			list := s.tell(s.ended(&model.Answer{
				Parts: []events.Part{call("look", "{}")}, Stop: events.StopCalls, Usage: tt.said, CostMicros: tt.cost, RawUsage: raw,
			}, nil))
			e := find[events.StepCompleted](t, list)
			if e.Usage != tt.said.Bounded() || e.CostMicros != nil && (*e.CostMicros < 0 || *e.CostMicros > events.MaxSum) {
				t.Errorf("used %+v for %v", e.Usage, e.CostMicros)
			}
			if len(e.RawUsage) != 1 || e.RawUsage[0] != raw[0] {
				t.Errorf("reported %q", e.RawUsage)
			}
			list = s.result(id(1, 1, 1), events.ToolOK, "seen")
			wants(t, list, "tool.completed", "budget.reached")
			if e := find[events.BudgetReached](t, list); e.Bound != tt.bound || e.Spent.Tokens < 0 || e.Spent.CostMicros < 0 {
				t.Errorf("reached %+v", e)
			}
		})
	}
}

// What is written down of attempts without an answer is bounded, too.
func TestS12_UsageOfFailedAndInterruptedAttemptsIsWithinWhatCanBeTrue(t *testing.T) {
	t.Parallel()
	said := model.Error{Class: events.ClassOverloaded, Usage: events.Usage{Input: math.MaxInt64, Output: -1}, CostMicros: new(int64(-1))}
	want := events.Usage{Input: events.MaxTokens}

	s := begin(t)
	s.send("a")
	if e := find[events.StepFailed](t, s.fail(said)); e.Usage != want || e.CostMicros != nil {
		t.Errorf("failed %+v", e)
	}
	s = begin(t)
	s.send("a")
	s.command(protocol.Interrupt{V: 1})
	if e := find[events.StepInterrupted](t, s.fail(said)); e.Usage != want || e.CostMicros != nil {
		t.Errorf("interrupted %+v", e)
	}
}
