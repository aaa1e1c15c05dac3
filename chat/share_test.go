package chat

import (
	"testing"

	"github.com/everturn/everturn/events"
)

func TestS11_GrantsNeverExceedWhatIsLeft(t *testing.T) {
	t.Parallel()

	for _, total := range []int64{1, 7, 8, 9, 1000} {
		b, spent := events.Budget{Tokens: total, CostMicros: 2 * total, TimeMS: 5}, events.Spending{}
		var open []events.Budget
		for shares := 9; shares > 1; shares-- {
			g, ok := grant(b, spent, open, 0, shares)
			if !ok {
				continue
			}
			if g.Tokens < 1 || g.CostMicros < 1 || g.TimeMS != b.TimeMS {
				t.Errorf("of %d: a grant of %+v", total, g)
			}
			open = append(open, g)
		}
		sum := events.Spending{}
		for _, g := range open {
			sum = sum.Plus(events.Spending{Tokens: g.Tokens, CostMicros: g.CostMicros})
		}
		if len(open) == 0 || sum.Tokens > b.Tokens || sum.CostMicros > b.CostMicros {
			t.Errorf("of %d: grants of %+v", total, open)
		}
		if total > 8 && sum.Tokens == b.Tokens {
			t.Errorf("of %d: nothing is left for the chat itself", total)
		}
	}
	if g, ok := grant(events.Budget{Tokens: events.Unlimited}, events.Spending{Tokens: 9}, nil, 0, 2); !ok || g != (events.Budget{}) {
		t.Errorf("of no bound: %+v, %t", g, ok)
	}
	if _, ok := grant(events.Budget{CostMicros: 9}, events.Spending{Unpriced: 1}, nil, 0, 2); ok {
		t.Error("something is granted where nobody knows whether anything is left")
	}
}

func TestS11_TheTighterOfTwoBudgets(t *testing.T) {
	t.Parallel()
	got := tighter(events.Budget{Tokens: 5, CostMicros: events.Unlimited, TimeMS: 9}, events.Budget{Tokens: 7, CostMicros: 3})
	if want := (events.Budget{Tokens: 5, CostMicros: 3, TimeMS: 9}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
