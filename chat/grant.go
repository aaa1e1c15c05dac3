package chat

import (
	"github.com/everturn/everturn/events"
)

// left is what may still be used of a budget that is not used up. Zero is no bound,
// as in any budget, so false says that nothing is left.
func left(b events.Budget, spent events.Spending, seen int) (events.Budget, bool) {
	if reached(b, spent, seen) != "" {
		return events.Budget{}, false
	}
	rest := limits(&b)
	if rest.Tokens > 0 {
		rest.Tokens -= spent.Tokens
	}
	if rest.CostMicros > 0 {
		rest.CostMicros -= spent.CostMicros
	}
	return rest, true
}

// grant is the share of a budget for one of so many that are to have the same. What
// others were granted, and may still use, counts as spent in full: so the sum of all
// grants never exceeds what there is, however many of them are used up. What was not
// used comes back when its child ends, and only its real spending counts.
//
// The share is rounded down, but never to nothing; false means that nothing is left.
// Time is not shared, since it passes for all at once.
func grant(b events.Budget, spent events.Spending, open []events.Budget, seen, shares int) (events.Budget, bool) {
	for _, g := range open {
		spent = spent.Plus(events.Spending{Tokens: g.Tokens, CostMicros: g.CostMicros})
	}
	rest, ok := left(b, spent, seen)
	if !ok {
		return events.Budget{}, false
	}
	for _, bound := range []*int64{&rest.Tokens, &rest.CostMicros} {
		if *bound > 0 {
			*bound = max(*bound/int64(max(shares, 1)), 1)
		}
	}
	return rest, true
}

// tighter is a budget with the smaller of each bound of two; no bound is the largest.
func tighter(a, b events.Budget) events.Budget {
	a, b = limits(&a), limits(&b)
	for _, bound := range []struct {
		of    *int64
		other int64
	}{{&a.Tokens, b.Tokens}, {&a.CostMicros, b.CostMicros}, {&a.TimeMS, b.TimeMS}} {
		if *bound.of == 0 || bound.other > 0 && bound.other < *bound.of {
			*bound.of = bound.other
		}
	}
	return a
}

// grants is what the next child of the open turn may spend: a share of what is left
// to the turn and to its chat, whichever is less, and the time that the turn has. One
// share is kept for the chat itself. Those of list are granted theirs beside it. False
// means that nothing is left to grant.
func (s State) grants(at events.Time, list []events.Event) (events.Budget, bool) {
	t, st := s.lastStep()
	var open []events.Budget
	shares := 1
	settings := s.effective(t)
	for i := range st.Calls {
		switch c := &st.Calls[i]; {
		case !c.open():
		case c.Child != nil && !c.Child.Ended:
			open = append(open, c.Child.Granted)
		case c.Child == nil:
			if tool, ok := findTool(settings, c.Tool); ok && isDelegate(tool) {
				shares++
			}
		}
	}
	for _, e := range list {
		if e, ok := e.(events.ChildSpawned); ok {
			open, shares = append(open, e.Granted), shares-1
		}
	}
	ofTurn, ofChat := s.budgets(t)
	a, ok := grant(ofTurn, t.Spent, open, t.Allowance.Seen, shares)
	if !ok {
		return events.Budget{}, false
	}
	b, ok := grant(ofChat, s.f.Spent, open, s.f.Accepted, shares)
	if !ok {
		return events.Budget{}, false
	}
	granted := tighter(a, b)
	granted.TimeMS = 0
	if _, due, bounded := s.timeLeft(); bounded {
		granted.TimeMS = due.Sub(at).Milliseconds()
		if granted.TimeMS <= 0 {
			return events.Budget{}, false // its timer comes at once, and then the turn waits
		}
	}
	return granted, true
}

// guessed is what counts for a child of which nobody knows what it took: all that it
// was granted, and an attempt of unknown cost where no money was.
func guessed(granted events.Budget) events.Spending {
	spent := events.Spending{Tokens: granted.Tokens, CostMicros: granted.CostMicros}
	if granted.CostMicros == 0 {
		spent.Unpriced = 1
	}
	return spent
}

// reports is whether the open turn is one that another chat waits for.
func (s State) reports() bool {
	return s.f.Spawned != nil && s.f.Current != nil && s.f.Current.Number == 1
}

func isReached(e events.Event) bool {
	_, ok := e.(events.BudgetReached)
	return ok
}
