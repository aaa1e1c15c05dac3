package replay

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// extension is a command that extends a budget so.
func (h *History) extension(e events.BudgetExtended) protocol.Body {
	ofTurn, now := h.state.Budgets()
	b := protocol.Extend{V: protocol.Version, Chat: e.Scope == events.BudgetOfChat}
	if !b.Chat {
		b.Turn, now = e.Turn, ofTurn
	}
	b.Add = events.Budget{
		Tokens: added(now.Tokens, e.Budget.Tokens), CostMicros: added(now.CostMicros, e.Budget.CostMicros),
		TimeMS: added(now.TimeMS, e.Budget.TimeMS),
	}
	return b
}

// added is what makes one bound out of the other.
func added(was, is int64) int64 {
	if is == events.Unlimited && was != is {
		return events.Unlimited
	}
	return max(is-was, 0)
}

// refusedExtensions are commands that may have been turned down so. What they would
// have added is not in the log, and too little is as good as nothing.
func refusedExtensions(e events.CommandRejected) []protocol.Body {
	var list []protocol.Body
	turns := []int{0}
	if turn, ok := firstNumber(e.Message); ok {
		turns = []int{turn, 0}
	}
	for _, turn := range turns {
		for _, ofChat := range []bool{false, true} {
			list = append(list, protocol.Extend{V: protocol.Version, Turn: turn, Chat: ofChat})
		}
	}
	return list
}

// spentOf says what was spent.
func spentOf(s events.Spending) string {
	said := fmt.Sprintf("%d tokens, %d millionths", s.Tokens, s.CostMicros)
	if s.Unpriced > 0 {
		said += fmt.Sprintf(" and %d attempts of unknown cost", s.Unpriced)
	}
	return said
}

// boundsOf says which bounds a budget has.
func boundsOf(b events.Budget) string {
	var said []string
	if b.Tokens > 0 {
		said = append(said, fmt.Sprintf("%d tokens", b.Tokens))
	}
	if b.CostMicros > 0 {
		said = append(said, fmt.Sprintf("%d millionths", b.CostMicros))
	}
	if b.TimeMS > 0 {
		said = append(said, b.Time().String())
	}
	if len(said) == 0 {
		return "no bound"
	}
	return strings.Join(said, ", ")
}
