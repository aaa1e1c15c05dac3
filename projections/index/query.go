package index

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections/question"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// Limits of questions and answers.
const (
	maxAwait  = 2 * time.Second // for something that is not read yet
	awaitEach = 20 * time.Millisecond
)

// Queries are the queries by name.
func (x *Index) Queries() map[string]question.Query {
	return map[string]question.Query{
		listing.QueryChats:  query(x, chats),
		listing.QuerySearch: query(x, search),
		listing.QueryUsage:  query(x, usage),
		listing.QueryOpen:   query(x, waits),
	}
}

// inquiry is what is asked of one state of the file.
type inquiry[Q any] struct {
	ask    Q
	tx     *sql.Tx // in which all is read
	tenant string
	shards int
}

// query puts JSON, and one state of the file, around a question.
func query[Q, A any](x *Index, ask func(context.Context, inquiry[Q]) (A, error)) question.Query {
	return func(ctx context.Context, tenant string, body []byte) ([]byte, error) {
		if err := (events.Key{Tenant: tenant}).ValidateTenant(); err != nil {
			return nil, question.Refuse(events.CodeBadCommand, "%v", err)
		}
		q, err := question.Decode[Q](body)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, x.cfg.QueryTime)
		defer cancel()
		done, err := x.turns.Take(ctx, tenant)
		if err != nil {
			if errors.Is(err, context.DeadlineExceeded) {
				return nil, question.Refuse(events.CodeUnavailable, "too many questions wait here for their turn: ask again later")
			}
			return nil, err
		}
		defer done()
		a, err := answer(ctx, x, tenant, q, ask)
		if err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, question.Refuse(events.CodeUnavailable, "this takes more than %v now: ask again later, or for less", x.cfg.QueryTime)
			}
			return nil, err
		}
		return question.Encode(a)
	}
}

// answer asks the file that is in use. It waits for what the question wants to be
// known first.
func answer[Q, A any](ctx context.Context, x *Index, tenant string, q Q, ask func(context.Context, inquiry[Q]) (A, error)) (A, error) {
	for begun := time.Now(); ; {
		a, err := try(ctx, x, tenant, q, ask)
		late, isLate := errors.AsType[*lateError](err)
		if !isLate {
			return a, err
		}
		if time.Since(begun) > maxAwait {
			return a, question.Refuse(events.CodeUnavailable, "%s", late.what)
		}
		if err := pause(ctx, awaitEach); err != nil {
			return a, err
		}
	}
}

// lateError means that the file has not come so far.
type lateError struct{ what string }

func (e *lateError) Error() string { return e.what }

// try is answer without waiting.
func try[Q, A any](ctx context.Context, x *Index, tenant string, q Q, ask func(context.Context, inquiry[Q]) (A, error)) (A, error) {
	var a A
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.current == nil {
		return a, question.Refuse(events.CodeUnavailable, "the index of chats is being built, or cannot be kept: the log of the projections says which")
	}
	tx, err := x.current.read.BeginTx(ctx, nil)
	if err != nil {
		return a, fmt.Errorf("index: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return ask(ctx, inquiry[Q]{q, tx, tenant, x.current.shards})
}

// checked is the limit that a request comes to.
func checked(version, limit int) (int, error) {
	if version != 0 && version != protocol.Version {
		return 0, question.Refuse(events.CodeBadCommand, `body: want "v":%d`, protocol.Version)
	}
	if limit < 0 || limit > listing.MaxLimit {
		return 0, question.Refuse(events.CodeBadCommand, "limit: want 0 to %d", listing.MaxLimit)
	}
	if limit == 0 {
		limit = listing.DefaultLimit
	}
	return limit, nil
}

// fitting is how many of some rows fit into one answer: at least one.
func fitting[R any](rows []R) (int, error) {
	room := question.MaxAnswerBytes
	for i, r := range rows {
		b, err := json.Marshal(r)
		if err != nil {
			return 0, err
		}
		if room -= len(b) + 1; room < 0 && i > 0 {
			return i, nil
		}
	}
	return len(rows), nil
}
