package chat

import (
	"testing"

	"github.com/everturn/everturn/events"
)

func TestS1_1_6_ABoundIsReachedWhenItIsUsedUp(t *testing.T) {
	t.Parallel()

	cost := int64(300)
	for _, tt := range []struct {
		name   string
		budget events.Budget
		spent  events.Spending
		seen   int
		want   events.Bound
	}{
		{name: "no bound is never reached", spent: events.Spending{Tokens: 1 << 40, CostMicros: 1 << 40, Unpriced: 3}},
		{name: "unlimited is no bound", budget: events.Budget{Tokens: events.Unlimited, CostMicros: events.Unlimited}, spent: events.Spending{Tokens: 9, Unpriced: 1}},
		{name: "less than the bound is left", budget: events.Budget{Tokens: 10}, spent: events.Spending{Tokens: 9}},
		{name: "exactly the bound is used up", budget: events.Budget{Tokens: 10}, spent: events.Spending{Tokens: 10}, want: events.BoundTokens},
		{name: "money that is known", budget: events.Budget{CostMicros: 300}, spent: spending(events.Usage{Input: 1}, &cost), want: events.BoundCost},
		{name: "an unknown cost is not none", budget: events.Budget{CostMicros: 300}, spent: spending(events.Usage{Input: 1}, nil), want: events.BoundCost},
		{name: "an unknown cost that was seen", budget: events.Budget{CostMicros: 300}, spent: spending(events.Usage{Input: 1}, nil), seen: 1},
		{name: "an attempt that used nothing costs nothing", budget: events.Budget{CostMicros: 300}, spent: spending(events.Usage{}, nil)},
		{name: "an unknown cost is no matter of tokens", budget: events.Budget{Tokens: 10}, spent: spending(events.Usage{Input: 1}, nil)},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			if got := reached(tt.budget, tt.spent, tt.seen); got != tt.want {
				t.Errorf("reached %q, want %q", got, tt.want)
			}
		})
	}
}

func TestS1_1_6_AnExtensionRaisesWhatIsBounded(t *testing.T) {
	t.Parallel()

	got := raised(events.Budget{Tokens: 10, TimeMS: events.MaxBudgetTime.Milliseconds() - 1}, events.Budget{Tokens: 5, CostMicros: 7, TimeMS: 9})
	if want := (events.Budget{Tokens: 15, TimeMS: events.MaxBudgetTime.Milliseconds()}); got != want {
		t.Errorf("raised to %+v, want %+v", got, want)
	}
	if got := raised(events.Budget{Tokens: 10}, events.Budget{Tokens: events.Unlimited}); got.Tokens != events.Unlimited {
		t.Errorf("raised to %+v, want no bound", got)
	}
}
