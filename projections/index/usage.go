package index

import (
	"context"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol/listing"
)

// sums adds what was spent. A sum that cannot be counted is the most that can: total
// does not overflow, as sum does.
const sums = `total(attempts), total(input), total(output), total(cache_read), total(cache_write), total(reasoning), total(cost_micros), total(unpriced)`

// usage gives what a tenant's chats used.
func usage(ctx context.Context, q inquiry[listing.UsageRequest]) (listing.Usage, error) {
	a := listing.Usage{Rows: []listing.Spent{}}
	limit, err := checked(q.ask.V, q.ask.Limit)
	if err != nil {
		return a, err
	}
	where, args := "tenant = ?", []any{q.tenant}
	for _, f := range []struct{ name, column, than, value string }{
		{"from", "day", ">=", q.ask.From},
		{"to", "day", "<=", q.ask.To},
		{"chat", "chat", "=", q.ask.Chat},
		{"model", "model", "=", q.ask.Model},
		{"agent", "agent", "=", q.ask.Agent},
	} {
		if f.value == "" {
			continue
		}
		if _, err := time.Parse(time.DateOnly, f.value); f.column == "day" && err != nil {
			return a, question.Refuse(events.CodeBadCommand, "%s: want a day, as 2026-11-30", f.name)
		}
		where, args = where+" AND "+f.column+" "+f.than+" ?", append(args, f.value)
	}
	by := q.ask.By
	switch by {
	case "":
		by = listing.ByDay
	case listing.ByDay, listing.ByModel, listing.ByAgent, listing.ByChat:
	default:
		return a, question.Refuse(events.CodeBadCommand, "by: want day, model, agent or chat")
	}
	if a.Total, err = scanSpent(q.tx.QueryRowContext(ctx, "SELECT '', "+sums+" FROM spent WHERE "+where, args...)); err != nil {
		return a, err
	}
	if q.ask.After != "" {
		after, err := parseTexts(q.ask.After, 1)
		if err != nil {
			return a, err
		}
		where, args = where+" AND "+string(by)+" > ?", append(args, after[0])
	}
	rows, err := q.tx.QueryContext(ctx, fmt.Sprintf("SELECT %s, %s FROM spent WHERE %s GROUP BY 1 ORDER BY 1 LIMIT %d", by, sums, where, limit+1), args...)
	if err != nil {
		return a, fmt.Errorf("index: usage: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		spent, err := scanSpent(rows)
		if err != nil {
			return a, err
		}
		if len(a.Rows) == limit {
			a.Next = texts(a.Rows[limit-1].Key)
			break
		}
		a.Rows = append(a.Rows, spent)
	}
	return a, rows.Err()
}

// scanSpent reads a row of sums.
func scanSpent(row interface{ Scan(dest ...any) error }) (listing.Spent, error) {
	var s listing.Spent
	var sum [8]float64
	if err := row.Scan(&s.Key, &sum[0], &sum[1], &sum[2], &sum[3], &sum[4], &sum[5], &sum[6], &sum[7]); err != nil {
		return s, fmt.Errorf("index: usage: %w", err)
	}
	for n, to := range []*int64{
		&s.Attempts, &s.Usage.Input, &s.Usage.Output, &s.Usage.CacheRead, &s.Usage.CacheWrite, &s.Usage.Reasoning, &s.CostMicros, &s.Unpriced,
	} {
		*to = int64(min(sum[n], events.MaxSum))
	}
	return s, nil
}
