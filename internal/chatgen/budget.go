package chatgen

import (
	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// SendWith says something that may spend so much.
func (c *Chat) SendWith(text string, b events.Budget) {
	c.Command(protocol.Send{
		V: protocol.Version, Parts: []events.Part{events.Text(text)}, Settings: &events.Settings{Budget: &b},
	})
}

// Spend gives the open attempt an answer of so many tokens, and that cost.
func (c *Chat) Spend(tokens int64, costMicros *int64, parts ...events.Part) {
	a := model.Answer{Parts: parts, Stop: events.StopEnd, Usage: events.Usage{Output: tokens}, CostMicros: costMicros}
	for _, p := range parts {
		if p.Type == events.PartCall {
			a.Stop = events.StopCalls
		}
	}
	c.AnswerWith(a)
}

// Extend gives the turn that runs more to spend.
func (c *Chat) Extend(add events.Budget) {
	c.Command(protocol.Extend{V: protocol.Version, Add: add})
}

// ExtendChat gives all turns of the chat together more to spend.
func (c *Chat) ExtendChat(add events.Budget) {
	c.Command(protocol.Extend{V: protocol.Version, Chat: true, Add: add})
}

// NoBudget is one without any bound.
func NoBudget() events.Budget {
	return events.Budget{Tokens: events.Unlimited, CostMicros: events.Unlimited, TimeMS: events.Unlimited}
}

// budget is one that is soon used up.
func (d *Driver) budget() *events.Budget {
	b := events.Budget{Tokens: 20 * int64(d.chance.IntN(8))}
	if d.yes(3) {
		b.CostMicros = int64(d.chance.IntN(30)) - 1
	}
	if d.yes(3) {
		b.TimeMS = int64(d.chance.IntN(10_000))
	}
	return &b
}

// extend is what a person may add to a budget.
func (d *Driver) extend(turn int) chat.Message {
	b := protocol.Extend{V: protocol.Version, Turn: turn, Chat: d.yes(3)}
	if !d.yes(4) {
		b.Add = *d.budget()
	}
	return d.command(b)
}

// wildBudget is one that is soon used up, none, or one that cannot be.
func (d *Driver) wildBudget() events.Budget {
	b := *d.budget()
	switch d.chance.IntN(8) {
	case 0:
		b.Tokens = -2
	case 1:
		b.TimeMS = events.MaxBudgetTime.Milliseconds() + 1
	case 2:
		b.Tokens, b.CostMicros = events.MaxBudget, events.MaxBudget
	case 3:
		b = NoBudget()
	}
	return b
}

// chatSettings are settings of a chat, which may have a budget for all its turns.
func (d *Driver) chatSettings() events.Settings {
	s := d.settings()
	if d.yes(4) {
		s.ChatBudget = d.budget()
		s.ChatBudget.TimeMS = 0
	}
	return s
}
