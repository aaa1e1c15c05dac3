package events_test

import (
	"math"
	"testing"

	"github.com/everturn/everturn/events"
)

func TestCountsAreWithinWhatCanBeTrue(t *testing.T) {
	t.Parallel()
	said := events.Usage{Input: math.MaxInt64, Output: 1, CacheRead: -1, CacheWrite: math.MinInt64, Reasoning: events.MaxTokens}
	if want := (events.Usage{Input: events.MaxTokens, Output: 1, Reasoning: events.MaxTokens}); said.Bounded() != want {
		t.Errorf("bounded %+v, want %+v", said.Bounded(), want)
	}
	if got := said.Total(); got != events.MaxTokens+1 {
		t.Errorf("%d tokens in all", got)
	}
	for _, tt := range []struct{ said, want *int64 }{
		{nil, nil},
		{new(int64(-1)), nil},
		{new(int64(0)), new(int64(0))},
		{new(int64(7)), new(int64(7))},
		{new(int64(math.MaxInt64)), new(int64(events.MaxSum))},
	} {
		if got := events.Cost(tt.said); (got == nil) != (tt.want == nil) || got != nil && *got != *tt.want {
			t.Errorf("cost %v, want %v", got, tt.want)
		}
	}
}

func TestSumsStayWhereTheyCanBeCompared(t *testing.T) {
	t.Parallel()
	most := events.Usage{Input: math.MaxInt64, Output: events.MaxSum, CacheRead: math.MinInt64, CacheWrite: 2, Reasoning: -1}
	want := events.Usage{Input: events.MaxSum, Output: events.MaxSum, CacheWrite: 4}
	if got := most.Plus(most); got != want {
		t.Errorf("used %+v, want %+v", got, want)
	}
	spent := events.Spending{Tokens: math.MaxInt64, CostMicros: math.MaxInt64, Unpriced: 1}
	if got := spent.Plus(spent); got != (events.Spending{Tokens: events.MaxSum, CostMicros: events.MaxSum, Unpriced: 2}) {
		t.Errorf("spent %+v", got)
	}
	if got := events.PlusCost(new(int64(math.MaxInt64)), new(int64(math.MaxInt64))); got == nil || *got != events.MaxSum {
		t.Errorf("cost %v", got)
	}
	if events.PlusCost(nil, new(int64(1))) != nil {
		t.Error("what is unknown has become known")
	}
	if full := int64(events.MaxTokens) * events.MaxStepsPerTurn * events.MaxAttemptsPerStep; full > events.MaxSum {
		t.Errorf("a turn can use %d", full)
	}
}
