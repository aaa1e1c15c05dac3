package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// extendCommand is `everturn extend`.
type extendCommand struct {
	instruction
	oneChat

	Add   budgetValue `arg:"" optional:"" placeholder:"BOUND=N,..." help:"How much more: tokens=N, cost=N in millionths, time=DURATION; none takes a bound away. Without it, attempts of unknown cost are accepted."`
	Turn  int         `placeholder:"N" help:"Only if this turn is the one that is open."`
	Whole bool        `name:"of-chat" help:"The budget of all the chat's turns together, and not the turn's."`
}

// Run implements the command.
func (c *extendCommand) Run(s *surroundings) error {
	body := protocol.Extend{V: protocol.Version, Turn: c.Turn, Chat: c.Whole}
	if c.Add.budget != nil {
		body.Add = *c.Add.budget
	}
	return c.to(s, c.Chat, body)
}

// budgetValue is a budget as people write it: tokens=1000,cost=5000,time=10m.
type budgetValue struct{ budget *events.Budget }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (b *budgetValue) UnmarshalText(text []byte) error {
	read := events.Budget{}
	bounds := map[string]*int64{"tokens": &read.Tokens, "cost": &read.CostMicros, "time": &read.TimeMS}
	for word := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(word, "=")
		of := bounds[name]
		if of == nil {
			return fmt.Errorf("%q is no bound: want tokens=N, cost=N or time=DURATION", word)
		}
		if *of != 0 {
			return fmt.Errorf("%s is named twice", name)
		}
		n, err := boundIn(name, value)
		if err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		*of = n
	}
	b.budget = &read
	return nil
}

// boundIn is the bound of that name that a text means.
func boundIn(name, value string) (int64, error) {
	if value == noBound {
		return events.Unlimited, nil
	}
	if name == "time" {
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Millisecond || d > events.MaxBudgetTime {
			return 0, fmt.Errorf("want a duration of 1ms to %dh, such as 10m, or %s", int(events.MaxBudgetTime.Hours()), noBound)
		}
		return d.Milliseconds(), nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 || n > events.MaxBudget {
		return 0, fmt.Errorf("want a whole number from 1 to %d, or %s", int64(events.MaxBudget), noBound)
	}
	return n, nil
}

// noBound stands in place of the number of a bound.
const noBound = "none"

// extendLine is what to type for a turn that waits for its budget.
func extendLine(chat string, e events.BudgetReached) string {
	line := "everturn extend " + chat
	if e.Scope == events.BudgetOfChat {
		line += " --of-chat"
	}
	switch e.Bound {
	case events.BoundTokens:
		line += " tokens=N"
	case events.BoundCost:
		line += " cost=N"
	case events.BoundTime:
		line += " time=DURATION"
	}
	return line
}
