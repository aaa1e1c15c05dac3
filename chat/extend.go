package chat

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// holding is a turn that waits for its budget to be extended.
type holding struct {
	Scope events.BudgetScope `json:"scope"`
	Bound events.Bound       `json:"bound"`
	At    events.Time        `json:"at"` // from when on
}

// allowance is what is known of the budgets of a turn, beside what it spent.
type allowance struct {
	Turn *events.Budget `json:"turn,omitempty"` // nil: that of its settings
	Chat *events.Budget `json:"chat,omitempty"` // likewise

	Seen     int   `json:"seen,omitempty"`      // attempts of unknown cost that were accepted
	Extended int   `json:"extended,omitempty"`  // how often
	WaitedMS int64 `json:"waited_ms,omitempty"` // for extensions, so far

	// Rev is the commit that the timer follows from, and Began the time from which on
	// the turn counts.
	Rev   uint64      `json:"rev"`
	Began events.Time `json:"began"`

	Held *holding `json:"held,omitempty"`
}

// budgets are those of a turn and of its chat, as they are now.
func (s State) budgets(t *turn) (ofTurn, ofChat events.Budget) {
	e := s.effective(t)
	ofTurn, ofChat = e.Budget, e.ChatBudget
	if t.Allowance.Turn != nil {
		ofTurn = *t.Allowance.Turn
	}
	if t.Allowance.Chat != nil {
		ofChat = *t.Allowance.Chat
	}
	return ofTurn, ofChat
}

// Budgets are those of the open turn and of the chat, as they are now.
func (s State) Budgets() (ofTurn, ofChat events.Budget) {
	if t := s.f.Current; t != nil {
		return s.budgets(t)
	}
	return events.Budget{}, s.chatBudget()
}

// Held is which bound of which budget the open turn waits for, if it does and is not
// about to end.
func (s State) Held() (events.BudgetScope, events.Bound, bool) {
	if t := s.f.Current; t != nil && t.Allowance.Held != nil && !s.Interrupting() {
		return t.Allowance.Held.Scope, t.Allowance.Held.Bound, true
	}
	return "", "", false
}

// overdrawn is the first bound of tokens or money that is used up, of the open turn
// or else of the chat; empty if there is none.
func (s State) overdrawn() (events.BudgetScope, events.Bound) {
	t := s.f.Current
	ofTurn, ofChat := s.budgets(t)
	if bound := reached(ofTurn, t.Spent, t.Allowance.Seen); bound != "" {
		return events.BudgetOfTurn, bound
	}
	return events.BudgetOfChat, reached(ofChat, s.f.Spent, s.f.Accepted)
}

// overdrawnAside reports whether the chat has nothing left to spend for a step
// outside of any turn, which does not wait for more.
func (s State) overdrawnAside() bool {
	return reached(s.chatBudget(), s.f.Spent, s.f.Accepted) != ""
}

// mayAsk reports whether a model may be asked in the open turn.
func (s State) mayAsk() bool {
	_, bound := s.overdrawn()
	return s.f.Current.Allowance.Held == nil && bound == ""
}

// held is what stands in place of the next step while there is nothing left to
// spend: the turn begins to wait, or waits already.
func (s State) held(at events.Time) ([]events.Event, bool) {
	if s.f.Current.Allowance.Held != nil {
		return nil, true
	}
	scope, bound := s.overdrawn()
	if bound == "" {
		return nil, false
	}
	return []events.Event{s.budgetReached(scope, bound, at)}, true
}

func (s State) budgetReached(scope events.BudgetScope, bound events.Bound, at events.Time) events.BudgetReached {
	t := s.f.Current
	e := events.BudgetReached{Turn: t.Number, Scope: scope, Bound: bound, At: at}
	ofTurn, ofChat := s.budgets(t)
	if e.Budget, e.Spent = ofTurn, t.Spent; scope == events.BudgetOfChat {
		e.Budget, e.Spent = ofChat, s.f.Spent
	}
	return e
}

// outOfTime is what follows when the time of a turn is over, whatever runs in it.
func (s State) outOfTime(name protocol.TimerName, at events.Time) []events.Event {
	timer, _, owed := s.timeLeft()
	if !owed || timer != name {
		return nil
	}
	return []events.Event{s.budgetReached(events.BudgetOfTurn, events.BoundTime, at)}
}

// timeLeft is the timer at the end of the open turn's time, and when that is; false
// if it is not bounded, or waits.
func (s State) timeLeft() (protocol.TimerName, events.Time, bool) {
	t := s.f.Current
	if t == nil || s.Interrupting() || t.Allowance.Held != nil {
		return protocol.TimerName{}, 0, false
	}
	budget, _ := s.budgets(t)
	if budget.TimeMS <= 0 {
		return protocol.TimerName{}, 0, false
	}
	name := protocol.TimerName{Kind: protocol.TimerBudget, Turn: t.Number, Number: t.Allowance.Extended + 1}
	waited := events.Budget{TimeMS: t.Allowance.WaitedMS}
	return name, t.Allowance.Began.Add(budget.Time() + waited.Time()), true
}

// decideExtend gives a turn or its chat more to spend.
func decideExtend(s State, b protocol.Extend, c Command, at events.Time) Decision {
	if wrong := wrongBudget("add.", b.Add); len(wrong) > 0 {
		return rejected(c, events.CodeBadCommand, strings.Join(wrong, "; "), "")
	}
	turn, running := s.Running()
	switch {
	case b.Turn < 0 || b.Turn > s.newest():
		return rejected(c, events.CodeUnknownTurn, fmt.Sprintf("turn %d was never started", b.Turn), "")
	case b.Turn != 0 && b.Turn != turn:
		return rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d has ended", b.Turn), "")
	case !running && !b.Chat:
		return rejected(c, events.CodeNotRunning, "no turn is running", "")
	case s.Interrupting():
		return rejected(c, events.CodeAlreadyFinished, fmt.Sprintf("turn %d is being interrupted", turn), "interrupting")
	case s.reports() && !b.Chat:
		return rejected(c, events.CodeLimitReached, fmt.Sprintf("turn %d works for another chat, which has granted its budget", turn), "")
	}
	e := events.BudgetExtended{Turn: turn, Scope: events.BudgetOfTurn, By: c.By, At: at}
	now, seen, spent := s.chatBudget(), s.f.Accepted, s.f.Spent
	if b.Chat {
		e.Scope = events.BudgetOfChat
	} else {
		t := s.f.Current
		now, _ = s.budgets(t)
		seen, spent = t.Allowance.Seen, t.Spent
	}
	e.Budget, e.Unpriced = raised(now, b.Add), spent.Unpriced
	if e.Budget == now && (now.CostMicros <= 0 || e.Unpriced == seen) {
		return rejected(c, events.CodeInvalidSettings, "add: want more for a bound that is set", "")
	}
	return facts(e)
}

// chatBudget is what all turns of the chat may spend together: that of the open
// turn, or while none is what its settings say, else what the newest turn had.
func (s State) chatBudget() events.Budget {
	if t := s.f.Current; t != nil {
		_, ofChat := s.budgets(t)
		return ofChat
	}
	var ofChat events.Budget
	if n := len(s.f.Past); n > 0 {
		_, ofChat = s.budgets(s.f.Past[n-1])
	}
	if said := s.f.Settings.ChatBudget; said != nil {
		ofChat = ofChat.Merge(*said)
	}
	return ofChat
}

// wrongBudget says what is wrong with the bounds of a budget, each beginning with
// its place behind that of the budget. Zero is none of them: it says nothing.
func wrongBudget(place string, b events.Budget) []string {
	var wrong []string
	for _, bound := range []struct {
		name     string
		of, most int64
	}{
		{"tokens", b.Tokens, events.MaxBudget},
		{"cost_micros", b.CostMicros, events.MaxBudget},
		{"time_ms", b.TimeMS, events.MaxBudgetTime.Milliseconds()},
	} {
		if bound.of < events.Unlimited || bound.of > bound.most {
			wrong = append(wrong, fmt.Sprintf("%s%s: want 1 to %d, or %d for none", place, bound.name, bound.most, events.Unlimited))
		}
	}
	return wrong
}

// wrongBudgets says everything that is wrong with the budgets among settings, each
// beginning with its place.
func wrongBudgets(s events.Settings) []string {
	var wrong []string
	if s.Budget != nil {
		wrong = wrongBudget("budget.", *s.Budget)
	}
	if s.ChatBudget != nil {
		ofChat := *s.ChatBudget
		if ofChat.TimeMS != 0 {
			wrong = append(wrong, "chat_budget.time_ms: a chat has no bound of time")
			ofChat.TimeMS = 0
		}
		wrong = append(wrong, wrongBudget("chat_budget.", ofChat)...)
	}
	return wrong
}

// limits takes a budget out of settings; what is without a bound is left out.
func limits(b *events.Budget) events.Budget {
	if b == nil {
		return events.Budget{}
	}
	return events.Budget{Tokens: max(b.Tokens, 0), CostMicros: max(b.CostMicros, 0), TimeMS: max(b.TimeMS, 0)}
}

// holdTurn folds that a turn waits for its budget, and extend that there is more.
func (s *State) holdTurn(e events.BudgetReached) {
	s.f.Current.Allowance.Held = &holding{Scope: e.Scope, Bound: e.Bound, At: e.At}
}

func (s *State) extend(e events.BudgetExtended) {
	t := s.f.Current
	if e.Scope == events.BudgetOfChat {
		s.f.Settings.ChatBudget, s.f.Accepted = &e.Budget, e.Unpriced
		if t != nil {
			t.Allowance.Chat = &e.Budget
		}
	} else {
		t.Allowance.Turn, t.Allowance.Seen = &e.Budget, e.Unpriced
	}
	if t == nil {
		return
	}
	a := &t.Allowance
	if a.Held != nil {
		a.WaitedMS += max(e.At.Sub(a.Held.At).Milliseconds(), 0)
		a.Held = nil
	}
	a.Extended, a.Rev = a.Extended+1, s.f.Rev
}

func (s State) misfitHold(e events.BudgetReached) string {
	if wrong := s.misfitTurn(e.Turn); wrong != "" {
		return wrong
	}
	if s.f.Current.Allowance.Held != nil {
		return fmt.Sprintf("turn %d reaches its budget, and waits for it already", e.Turn)
	}
	return ""
}

func (s State) misfitExtension(e events.BudgetExtended) string {
	open, running := s.Running()
	if e.Turn != open || !running && e.Scope != events.BudgetOfChat {
		return fmt.Sprintf("the budget of turn %d is extended, which is not open", e.Turn)
	}
	return ""
}
