package chat

import (
	"github.com/everturn/everturn/events"
)

// The whole notion of a budget stands here: what an attempt spends, when a bound is
// reached, and what an extension makes of it.

// spending is what one attempt used. A cost that nobody knows is never taken for
// none: an attempt that used tokens and has no cost is counted as such.
func spending(u events.Usage, costMicros *int64) events.Spending {
	spent := events.Spending{Tokens: u.Total()}
	switch costMicros = events.Cost(costMicros); {
	case costMicros != nil:
		spent.CostMicros = *costMicros
	case spent.Tokens > 0:
		spent.Unpriced = 1
	}
	return spent
}

// reached is the first bound of tokens or money that is used up, and empty if there
// is none. A bound of money is used up as well when it is not known whether it is:
// more attempts of unknown cost were made than the one who last extended it has
// seen, which is what seen counts. Time is no matter of what was spent; its timer
// says when it is over.
func reached(b events.Budget, spent events.Spending, seen int) events.Bound {
	switch {
	case b.Tokens > 0 && spent.Tokens >= b.Tokens:
		return events.BoundTokens
	case b.CostMicros > 0 && (spent.CostMicros >= b.CostMicros || spent.Unpriced > seen):
		return events.BoundCost
	}
	return ""
}

// raised is a budget with more added to each of its bounds; one that is not set
// stays none, whatever is added. Nothing grows beyond what can be counted.
func raised(b, by events.Budget) events.Budget {
	for _, bound := range []struct {
		of       *int64
		by, most int64
	}{
		{&b.Tokens, by.Tokens, events.MaxBudget},
		{&b.CostMicros, by.CostMicros, events.MaxBudget},
		{&b.TimeMS, by.TimeMS, events.MaxBudgetTime.Milliseconds()},
	} {
		if *bound.of <= 0 {
			continue
		}
		if bound.by == events.Unlimited {
			*bound.of = events.Unlimited
			continue
		}
		*bound.of += min(max(bound.by, 0), bound.most-min(*bound.of, bound.most))
	}
	return b
}
