package main

import (
	"context"
	"fmt"
	"strconv"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/protocol/listing"
)

// usageCommand is `everturn usage`.
type usageCommand struct {
	remote
	pageFlags

	UsageBy string   `name:"per" enum:"day,model,agent,chat" default:"day" placeholder:"WHAT" help:"What to tell apart by: day, model, agent or chat."`
	From    string   `placeholder:"DAY" help:"The first day, as 2026-11-30; days are those of UTC."`
	To      string   `placeholder:"DAY" help:"The last day."`
	In      chatName `placeholder:"CHAT" help:"Only of this chat."`
	Model   string   `help:"Only of this model."`
	Agent   string   `help:"Only of this agent."`
}

// Run implements the command.
func (c *usageCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		q := listing.UsageRequest{By: listing.UsageBy(c.UsageBy), From: c.From, To: c.To, Chat: string(c.In), Model: c.Model, Agent: c.Agent}
		t := s.table(c.pageFlags, c.UsageBy, "ATTEMPTS", "INPUT", "OUTPUT", "CACHE READ", "CACHE WRITE", "COST")
		var total listing.Spent
		err := all(c.pageFlags, func(after listing.Cursor, limit int) ([]listing.Spent, listing.Cursor, error) {
			q.After, q.Limit = after, limit
			a, err := cl.Usage(ctx, q)
			total = a.Total
			return a.Rows, a.Next, err
		}, func(r listing.Spent) error { return t.spent(r, r.Key) })
		if err != nil {
			return err
		}
		if !c.JSON {
			if err := t.spent(total, "total"); err != nil {
				return err
			}
		}
		return t.out.Flush()
	})
}

// spent prints what was used.
func (t *table) spent(r listing.Spent, of string) error {
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return t.row(r, of, number(r.Attempts), number(r.Usage.Input), number(r.Usage.Output), number(r.Usage.CacheRead),
		number(r.Usage.CacheWrite), costText(r))
}

// microsPerUnit is how many millionths make one of the price table's currency.
const microsPerUnit = 1_000_000

// costText is what was spent, and how much of it nobody knows: that is never told as
// nothing.
func costText(r listing.Spent) string {
	known := fmt.Sprintf("%.6f", float64(r.CostMicros)/microsPerUnit)
	switch {
	case r.Unpriced == 0:
		return known
	case r.CostMicros == 0:
		return fmt.Sprintf("unknown (%d attempts)", r.Unpriced)
	}
	return fmt.Sprintf("%s, and of %d attempts unknown", known, r.Unpriced)
}
