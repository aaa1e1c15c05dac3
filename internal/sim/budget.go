package sim

import (
	"slices"
	"strconv"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// budgetsOnceIn is how seldom a run has chats that may not spend what they like.
const budgetsOnceIn = 3

// maxExtensions bounds how often a person extends the same budget of a turn: what is
// said is sometimes lost, or comes too late.
const maxExtensions = 20

// budgeted bounds what some of the chats may spend, and extends it now and then
// before anybody asks. What is drawn for it changes nothing of what the others are.
func budgeted(p plan, all []command) []command {
	r := draws(p.seed, "budgets")
	if r.IntN(budgetsOnceIn) != 0 {
		return all
	}
	last := 0
	for _, c := range all {
		last = max(last, c.number)
	}
	seen := map[events.Key]bool{}
	var mixed []command
	say := func(k events.Key, b protocol.Body) {
		last++
		mixed = append(mixed, sayIn(p, k, last, b))
	}
	for _, c := range all {
		mixed = append(mixed, c)
		switch {
		case c.verb == string(protocol.VerbCreate) && !seen[c.key]:
			seen[c.key] = true
			settings := events.Settings{Budget: &events.Budget{Tokens: int64(50 + r.IntN(400))}}
			if r.IntN(2) == 0 {
				settings.Budget.TimeMS = int64(1 + r.IntN(20_000))
			}
			if r.IntN(3) == 0 {
				settings.ChatBudget = &events.Budget{Tokens: int64(100 + r.IntN(1000))}
			}
			say(c.key, protocol.Configure{V: protocol.Version, Settings: settings})
		case seen[c.key] && r.IntN(6) == 0:
			say(c.key, protocol.Extend{V: protocol.Version, Chat: r.IntN(4) == 0, Add: events.Budget{Tokens: int64(r.IntN(200))}})
		}
	}
	return mixed
}

// isHeld reports whether a turn waits for its budget.
func isHeld(s chat.State) bool {
	_, _, held := s.Held()
	return held
}

// extension extends the budget that a chat waits for, at last without any bound.
// There is nothing to say if false.
func (r *run) extension() (command, bool) {
	for _, k := range r.server.Chats() {
		state := r.watch.chats[k].last()
		scope, _, held := state.Held()
		if !held {
			continue
		}
		question := "budget " + k.String() + "." + strconv.FormatUint(state.Rev(), 10)
		n := r.answers[question]
		if n >= maxExtensions {
			continue
		}
		r.answers[question]++
		r.said++
		b := protocol.Extend{V: protocol.Version, Chat: scope == events.BudgetOfChat}
		b.Add = events.Budget{Tokens: events.Unlimited, CostMicros: events.Unlimited, TimeMS: events.Unlimited}
		if draw := numbered(r.plan.seed, question, n); !r.parting && draw.IntN(2) == 0 {
			b.Add = events.Budget{Tokens: int64(1 + draw.IntN(100)), CostMicros: 1, TimeMS: int64(1 + draw.IntN(5_000))}
		}
		return sayIn(r.plan, k, r.commands+r.said, b), true
	}
	return command{}, false
}

// anyHeld reports whether a turn of some chat waits for its budget.
func (r *run) anyHeld() bool {
	return slices.ContainsFunc(r.server.Chats(), func(k events.Key) bool { return isHeld(r.watch.chats[k].last()) })
}
