package verify

import "github.com/everturn/everturn/events"

// grants judges I20 for what a child may spend: nothing that was spent, or that
// another one may spend, and a bound for everything that has one.
func (h *history) grants(e events.ChildSpawned) {
	t, what := h.turn, describe(e.Call, "call")
	if t.settings == nil {
		return
	}
	if t.held.known() {
		h.breaks(RuleBounds, t.held, "the child of %s begins while turn %d waits for its budget", what, t.number)
	}
	taken := t.step.granted()
	taken.Tokens, taken.CostMicros = taken.Tokens+e.Granted.Tokens, taken.CostMicros+e.Granted.CostMicros
	h.sharesOut("tokens", e, e.Granted.Tokens, taken.Tokens, func(b *budget) (limit, spent int64) { return b.limit.Tokens, b.spent.Tokens })
	h.sharesOut("cost", e, e.Granted.CostMicros, taken.CostMicros, func(b *budget) (limit, spent int64) { return b.limit.CostMicros, b.spent.CostMicros })
	want := int64(0)
	if t.budget.limit.TimeMS > 0 {
		want = t.budget.limit.TimeMS + t.waitedMS - e.Due.Add(-events.ChildTime).Sub(t.began).Milliseconds()
	}
	if e.Granted.TimeMS != want {
		h.breaks(RuleBounds, t.start, "the child of %s is granted %d ms, and its turn has %d", what, e.Granted.TimeMS, want)
	}
}

// granted is what the children of a step that are open may spend together.
func (s *step) granted() events.Budget {
	var all events.Budget
	for _, c := range s.openCalls() {
		if c.child.spawned.known() && !c.child.ended.known() {
			all.Tokens += c.child.event.Granted.Tokens
			all.CostMicros += c.child.event.Granted.CostMicros
		}
	}
	return all
}

// nothingToGrant reports whether a call waits because its child could spend nothing:
// its turn waits for its budget, or will as soon as its timer comes, or other
// children have what is left.
func (h *history) nothingToGrant(c *call) bool {
	t := h.turn
	if !t.delegates(c) {
		return false
	}
	if t.held.known() || t.budget.limit.TimeMS > 0 && h.at.Sub(t.began).Milliseconds()-t.waitedMS >= t.budget.limit.TimeMS {
		return true
	}
	granted := t.step.granted()
	for _, b := range []*budget{&t.budget, &h.budget} {
		if granted.Tokens > 0 && b.limit.Tokens > 0 && b.spent.Tokens+granted.Tokens >= b.limit.Tokens ||
			granted.CostMicros > 0 && b.limit.CostMicros > 0 && b.spent.CostMicros+granted.CostMicros >= b.limit.CostMicros {
			return true
		}
	}
	return false
}

// sharesOut judges one bound of a grant: taken is what all open grants come to.
func (h *history) sharesOut(bound string, e events.ChildSpawned, granted, taken int64, of func(*budget) (limit, spent int64)) {
	what, bounded := describe(e.Call, "call"), false
	for _, b := range []*budget{&h.turn.budget, &h.budget} {
		limit, spent := of(b)
		if limit <= 0 {
			continue
		}
		bounded = true
		if granted <= 0 || spent+taken > limit {
			h.breaks(RuleBounds, h.turn.start, "the child of %s is granted %d, %s, which with all that is granted makes %d; of %d are spent %d",
				what, granted, bound, taken, limit, spent)
			return
		}
	}
	if !bounded && granted != 0 {
		h.breaks(RuleBounds, h.turn.start, "the child of %s is granted %d, %s, of which nothing is bounded", what, granted, bound)
	}
}

// spends judges I20 for what a child took, and counts it.
func (h *history) spends(c *call, e events.ChildEnded) {
	granted, what := c.child.event.Granted, describe(e.Call, "call")
	if e.Spent.Tokens < 0 || e.Spent.CostMicros < 0 || e.Spent.Unpriced < 0 {
		h.breaks(RuleBounds, c.child.spawned, "the child of %s has spent %+v", what, e.Spent)
	}
	if e.Outcome == events.ChildUnknown || e.Outcome == events.ChildErased {
		want := events.Spending{Tokens: granted.Tokens, CostMicros: granted.CostMicros}
		if granted.CostMicros == 0 {
			want.Unpriced = 1
		}
		if e.Spent != want {
			h.breaks(RuleBounds, c.child.spawned, "nobody knows what the child of %s has spent: %+v counts, and not %+v", what, want, e.Spent)
		}
	}
	h.budget.spent, h.turn.budget.spent = h.budget.spent.Plus(e.Spent), h.turn.budget.spent.Plus(e.Spent)
}

// startsGranted judges I20 for the first turn of a child: it has no more than it was
// granted.
func (h *history) startsGranted(t *turn) {
	if !h.birth.at.known() || t.number != 1 {
		return
	}
	granted, has := h.birth.event.Granted, t.settings.Budget
	for _, bound := range [][2]int64{{granted.Tokens, has.Tokens}, {granted.CostMicros, has.CostMicros}, {granted.TimeMS, has.TimeMS}} {
		if most, is := bound[0], bound[1]; most > 0 && (is <= 0 || is > most) {
			h.breaks(RuleBounds, h.birth.at, "turn 1 has the budget %+v, and was granted %+v", has, granted)
			return
		}
	}
}

// outOfBudget reports whether e ends the first turn of a child that has nothing left
// to spend, in the commit that says so.
func (h *history) outOfBudget(c events.Commit, e events.Event) bool {
	stop, stops := e.(events.TurnInterruptRequested)
	if !stops || stop.Turn != 1 || stop.Reason != events.ReasonBudget || !h.birth.at.known() {
		return false
	}
	for _, before := range c.Events {
		if reached, ok := before.(events.BudgetReached); ok && reached.Turn == 1 {
			return true
		}
	}
	return false
}
