package main

import (
	"errors"
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
	for word := range strings.SplitSeq(string(text), ",") {
		name, value, _ := strings.Cut(word, "=")
		n, err := boundIn(name, value)
		if err != nil {
			return fmt.Errorf("%q: %w", word, err)
		}
		switch name {
		case "tokens":
			read.Tokens = n
		case "cost":
			read.CostMicros = n
		case "time":
			read.TimeMS = n
		default:
			return fmt.Errorf("%q is no bound: want tokens, cost or time", name)
		}
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
		if err != nil || d < time.Millisecond {
			return 0, errors.New("want a duration, such as 10m")
		}
		return d.Milliseconds(), nil
	}
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n <= 0 {
		return 0, errors.New("want a number above 0")
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
