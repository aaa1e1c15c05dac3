package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// budget is what a turn or a chat may spend, and has.
type budget struct {
	limit    events.Budget
	spent    events.Spending
	accepted int // attempts of unknown cost

	wished events.Budget // of a chat: what was said of it, which the next turn goes by
}

// pay counts an attempt. One that used something and has no cost has one that nobody
// knows.
func (b *budget) pay(u events.Usage, costMicros *int64) {
	paid := events.Spending{Tokens: u.Total()}
	if costMicros = events.Cost(costMicros); costMicros != nil {
		paid.CostMicros = *costMicros
	} else if paid.Tokens > 0 {
		paid.Unpriced = 1
	}
	b.spent = b.spent.Plus(paid)
}

// usedUp reports whether a bound is, of tokens or money.
func (b *budget) usedUp(bound events.Bound) bool {
	switch bound {
	case events.BoundTokens:
		return b.limit.Tokens > 0 && b.spent.Tokens >= b.limit.Tokens
	case events.BoundCost:
		return b.limit.CostMicros > 0 && (b.spent.CostMicros >= b.limit.CostMicros || b.spent.Unpriced > b.accepted)
	case events.BoundTime:
	}
	return false
}

// wish adds what settings say of a chat's budget.
func (b *budget) wish(said *events.Budget) {
	if said != nil {
		b.wished = b.wished.Merge(*said)
	}
}

// nothingLeft reports whether a chat has nothing left to spend outside of any turn.
func (h *history) nothingLeft() bool {
	b := h.budget
	if h.turn == nil {
		b.limit = b.limit.Merge(b.wished)
	}
	return b.overdrawn()
}

func (b *budget) overdrawn() bool { return b.usedUp(events.BoundTokens) || b.usedUp(events.BoundCost) }

// budgetOf is the open turn's, or its chat's; nil if the log says of none.
func (h *history) budgetOf(scope events.BudgetScope) *budget {
	switch scope {
	case events.BudgetOfTurn:
		if h.turn != nil {
			return &h.turn.budget
		}
	case events.BudgetOfChat:
		return &h.budget
	}
	return nil
}

// startsWith takes the budgets of a turn that starts.
func (h *history) startsWith(e *events.Effective) {
	h.turn.budget.limit, h.budget.limit = e.Budget, e.ChatBudget
}

// affords judges I20 for an attempt that begins: something is left for it, and the
// turn does not wait for more.
func (h *history) affords(e events.StepRequested) {
	what := describe(e.Step, "step")
	switch t := h.turn; {
	case t.settings == nil:
	case t.held.known():
		h.breaks(RuleBounds, t.held, "%s is requested while turn %d waits for its budget", what, t.number)
	case t.budget.overdrawn():
		h.breaks(RuleBounds, t.start, "%s is requested, and of the budget %+v turn %d has spent %+v", what, t.budget.limit, t.number, t.budget.spent)
	case h.budget.overdrawn():
		h.breaks(RuleBounds, t.start, "%s is requested, and of the budget %+v the chat has spent %+v", what, h.budget.limit, h.budget.spent)
	}
}

// budgetReached judges I14: a turn waits for nothing that it has.
func (h *history) budgetReached(e events.BudgetReached) {
	if !h.belongs(e.Turn, e) {
		return
	}
	h.starts("waiting for a budget")
	t := h.turn
	if t.held.known() {
		h.breaks(RuleOutcomes, t.held, "turn %d reaches its budget, and waits for it already", t.number)
	}
	if t.final.known() && !slices.ContainsFunc(h.waiting, func(in waitingInput) bool { return in.mode == events.ModeSteer }) {
		h.breaks(RuleOutcomes, t.final, "turn %d has a final answer and waits for its budget", t.number)
	}
	t.held, t.heldAt = h.here, e.At
	b := h.budgetOf(e.Scope)
	if b == nil {
		h.breaks(RuleOutcomes, Place{}, "turn %d reaches a budget of %q", t.number, e.Scope)
		return
	}
	if t.settings == nil {
		return
	}
	if e.Spent != b.spent || e.Budget != b.limit {
		h.breaks(RuleOutcomes, t.start, "turn %d reaches the budget %+v with %+v, and the log has %+v and %+v", t.number, e.Budget, e.Spent, b.limit, b.spent)
	}
	if e.Bound == events.BoundTime {
		h.outOfTime(e)
	} else if !b.usedUp(e.Bound) {
		h.breaks(RuleOutcomes, t.start, "turn %d reaches its bound of %q, of %+v, having spent %+v", t.number, e.Bound, b.limit, b.spent)
	}
}

// outOfTime judges the end of a turn's time: its timer brings it. Whether that was
// due only the server could know: the times in the log are those of clocks that
// may have been set meanwhile.
func (h *history) outOfTime(e events.BudgetReached) {
	t := h.turn
	timer := protocol.TimerName{Kind: protocol.TimerBudget, Turn: t.number, Number: t.extensions + 1}.String()
	if e.Scope != events.BudgetOfTurn || t.budget.limit.TimeMS <= 0 || h.cause.Kind != events.CausedByTimer || h.cause.ID != timer {
		h.breaks(RuleOutcomes, t.start, "the time of turn %d is over without its timer %s", t.number, timer)
	}
}

// budgetExtended judges I14: a person gives more, to what is not about to end.
func (h *history) budgetExtended(e events.BudgetExtended) {
	if e.Turn != 0 && !h.belongs(e.Turn, e) {
		return
	}
	b := h.budgetOf(e.Scope)
	switch {
	case e.Turn == 0 && h.turn != nil:
		h.breaks(RuleBelonging, h.turn.start, "a budget is extended outside of any turn while turn %d is open", h.turn.number)
	case b == nil:
		h.breaks(RuleOutcomes, Place{}, "a budget of %q is extended", e.Scope)
		return
	}
	if t := h.turn; t != nil {
		h.starts("an extension of its budget")
		if t.held.known() {
			t.waitedMS += max(e.At.Sub(t.heldAt).Milliseconds(), 0)
		}
		t.held, t.extensions, t.extended = Place{}, t.extensions+1, h.here
	}
	for _, bound := range [][2]int64{
		{b.limit.Tokens, e.Budget.Tokens}, {b.limit.CostMicros, e.Budget.CostMicros}, {b.limit.TimeMS, e.Budget.TimeMS},
	} {
		was, is := bound[0], bound[1]
		if h.turn != nil && h.turn.settings != nil && is != events.Unlimited && (is < was || was <= 0 && is > 0) {
			h.breaks(RuleBounds, Place{}, "the budget %+v is extended to %+v", b.limit, e.Budget)
			break
		}
	}
	if e.Unpriced != b.spent.Unpriced {
		h.breaks(RuleOutcomes, Place{}, "%d attempts of unknown cost are accepted, the log has %d", e.Unpriced, b.spent.Unpriced)
	}
	b.limit, b.accepted, b.wished = e.Budget, e.Unpriced, e.Budget
}

// believes judges I20 for what a provider counted: it is no more than can be true.
// Releases that knew no budget wrote down whatever it said, and added that up; what
// they made of it is not judged.
func (h *history) believes(id events.StepID, u events.Usage, costMicros *int64) {
	if u == u.Bounded() && (costMicros == nil || *costMicros <= events.MaxSum) {
		return
	}
	if id.Turn != 0 && h.turn.rules < rulesApprovals {
		h.turn.unbelievable = true
		return
	}
	h.breaks(RuleBounds, Place{}, "step %s used %+v, and each count is 0 to %d; what it cost is at most %d", id, u, int64(events.MaxTokens), int64(events.MaxSum))
}

// pays judges I20 for what an attempt cost, and counts it.
func (h *history) pays(id events.StepID, u events.Usage, costMicros *int64) {
	if costMicros != nil && *costMicros < 0 {
		h.breaks(RuleBounds, Place{}, "step %s cost %d", id, *costMicros)
	}
	h.believes(id, u, costMicros)
	h.budget.pay(u, costMicros)
	if id.Turn != 0 {
		h.turn.usage = h.turn.usage.Plus(u)
		h.turn.budget.pay(u, costMicros)
	}
}
