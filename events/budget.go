package events

import "time"

// Unlimited stands in a budget for no bound, where others set one.
const Unlimited = -1

// Budget bounds what models are asked for: as long as less is used the next step is
// asked for, so at most one step goes beyond it. Zero is the bound of whoever was
// asked before, or none; [Unlimited] is none.
type Budget struct {
	Tokens     int64 `json:"tokens,omitempty"`      // of every kind, of failed attempts too
	CostMicros int64 `json:"cost_micros,omitempty"` // in millionths of the price table's currency
	TimeMS     int64 `json:"time_ms,omitempty"`     // from the start of the turn, in ms
}

// Merge is b with every bound that over sets taken from over.
func (b Budget) Merge(over Budget) Budget {
	if over.Tokens != 0 {
		b.Tokens = over.Tokens
	}
	if over.CostMicros != 0 {
		b.CostMicros = over.CostMicros
	}
	if over.TimeMS != 0 {
		b.TimeMS = over.TimeMS
	}
	return b
}

// Limits reports whether any bound is set.
func (b Budget) Limits() bool { return b.Tokens > 0 || b.CostMicros > 0 || b.TimeMS > 0 }

// Time is the bound of time; zero or less is none.
func (b Budget) Time() time.Duration { return time.Duration(b.TimeMS) * time.Millisecond }

// Bound names one of the bounds of a budget.
type Bound string

// The bounds.
const (
	BoundTokens Bound = "tokens"
	BoundCost   Bound = "cost"
	BoundTime   Bound = "time"
)

// Spending is what was used of a budget. Time is not among it: that goes by itself.
type Spending struct {
	Tokens     int64 `json:"tokens"`      // of every kind, of failed attempts too
	CostMicros int64 `json:"cost_micros"` // in millionths of the price table's currency

	// Unpriced is how many attempts used tokens whose cost nobody knows. CostMicros
	// is then only the least that was spent.
	Unpriced int `json:"unpriced,omitempty"`
}

// Plus is the sum of both. It never leaves 0 to [MaxSum], whatever was counted.
func (s Spending) Plus(t Spending) Spending {
	return Spending{
		Tokens: plus(s.Tokens, t.Tokens), CostMicros: plus(s.CostMicros, t.CostMicros),
		Unpriced: int(plus(int64(s.Unpriced), int64(t.Unpriced))),
	}
}

// BudgetScope says what a budget is of.
type BudgetScope string

// The scopes.
const (
	BudgetOfTurn BudgetScope = "turn"
	BudgetOfChat BudgetScope = "chat" // all its turns together, on every branch
)

// BudgetReached says that a bound of a budget is used up. No model is asked any more
// in the turn, which stays open and waits to be extended or interrupted: what runs
// goes on and gets its results.
type BudgetReached struct {
	Turn  int         `json:"turn"`
	Scope BudgetScope `json:"scope"`
	Bound Bound       `json:"bound"`

	Budget Budget   `json:"budget"` // what there was
	Spent  Spending `json:"spent"`  // what was used of it

	// At is from when on the turn waits: that is no time it spends.
	At Time `json:"at"`
}

// BudgetExtended says that there is more to spend from here on. If the turn waited
// for it, it goes on, unless another bound is used up as well.
type BudgetExtended struct {
	Turn  int         `json:"turn,omitempty"` // the open one; none may be while a chat's is extended
	Scope BudgetScope `json:"scope"`

	Budget   Budget `json:"budget"`             // what there is now, with all that was used before
	Unpriced int    `json:"unpriced,omitempty"` // attempts of unknown cost that are accepted with it

	By string `json:"by,omitempty"`
	At Time   `json:"at"`
}

// EventType implements [Event].
func (BudgetReached) EventType() Type { return "budget.reached.v1" }
func (BudgetReached) sealed()         {}

// EventType implements [Event].
func (BudgetExtended) EventType() Type { return "budget.extended.v1" }
func (BudgetExtended) sealed()         {}
