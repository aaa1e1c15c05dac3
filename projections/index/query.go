package index

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/listing"
)

// Limits of questions and answers.
const (
	maxRequestBytes = 8 << 10
	maxAnswerBytes  = 768 << 10       // as JSON; servers take messages of 1 MiB
	maxQueryTime    = 5 * time.Second // then the question was too wide
	maxAwait        = 2 * time.Second // for something that is not read yet
	awaitEach       = 20 * time.Millisecond
)

// Query answers one kind of question about the chats of a tenant. A no is a
// [*protocol.RefusedError]; any other error means "not now".
type Query = func(ctx context.Context, tenant string, body []byte) ([]byte, error)

// Queries are the queries by name.
func (x *Index) Queries() map[string]Query {
	return map[string]Query{
		listing.QueryChats:  query(x, chats),
		listing.QuerySearch: query(x, search),
		listing.QueryUsage:  query(x, usage),
		listing.QueryOpen:   query(x, waits),
	}
}

// Without are the same queries where nobody keeps an index: each says what to do.
func Without() map[string]Query {
	no := func(context.Context, string, []byte) ([]byte, error) {
		return nil, refuse(events.CodeUnavailable, "lists, search and usage need projections with a store: start `everturn projections --store DIR`")
	}
	return map[string]Query{listing.QueryChats: no, listing.QuerySearch: no, listing.QueryUsage: no, listing.QueryOpen: no}
}

// question is what is asked of one state of the file.
type question[Q any] struct {
	ask    Q
	tx     *sql.Tx // in which all is read
	tenant string
	shards int
}

// query puts JSON, and one state of the file, around a question.
func query[Q, A any](x *Index, ask func(context.Context, question[Q]) (A, error)) Query {
	return func(ctx context.Context, tenant string, body []byte) ([]byte, error) {
		if err := (events.Key{Tenant: tenant}).ValidateTenant(); err != nil {
			return nil, refuse(events.CodeBadCommand, "%v", err)
		}
		q, err := decode[Q](body)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithTimeout(ctx, maxQueryTime)
		defer cancel()
		a, err := answer(ctx, x, tenant, q, ask)
		if err != nil {
			if errors.Is(ctx.Err(), context.DeadlineExceeded) {
				return nil, refuse(events.CodeUnavailable, "this takes more than %v: ask for less", maxQueryTime)
			}
			return nil, err
		}
		return encode(a)
	}
}

// answer asks the file that is in use. It waits for what the question wants to be
// known first.
func answer[Q, A any](ctx context.Context, x *Index, tenant string, q Q, ask func(context.Context, question[Q]) (A, error)) (A, error) {
	for begun := time.Now(); ; {
		a, err := try(ctx, x, tenant, q, ask)
		late, isLate := errors.AsType[*lateError](err)
		if !isLate {
			return a, err
		}
		if time.Since(begun) > maxAwait {
			return a, refuse(events.CodeUnavailable, "%s", late.what)
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
func try[Q, A any](ctx context.Context, x *Index, tenant string, q Q, ask func(context.Context, question[Q]) (A, error)) (A, error) {
	var a A
	x.mu.RLock()
	defer x.mu.RUnlock()
	if x.current == nil {
		return a, refuse(events.CodeUnavailable, "the index of chats is being built, or cannot be kept: the log of the projections says which")
	}
	tx, err := x.current.read.BeginTx(ctx, nil)
	if err != nil {
		return a, fmt.Errorf("index: %w", err)
	}
	defer func() { _ = tx.Rollback() }() // it has only read
	return ask(ctx, question[Q]{q, tx, tenant, x.current.shards})
}

// decode reads the body of a query as strictly as that of a command.
func decode[Q any](body []byte) (Q, error) {
	var q Q
	if len(body) > maxRequestBytes {
		return q, refuse(events.CodeTooLarge, "body of %d bytes, at most %d are allowed", len(body), maxRequestBytes)
	}
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(&q); err != nil {
		return q, refuse(events.CodeBadCommand, "body: %s", protocol.Unreadable(err))
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return q, refuse(events.CodeBadCommand, "body: more than one JSON value")
	}
	return q, nil
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(v); err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// checked is the limit that a request comes to.
func checked(version, limit int) (int, error) {
	if version != 0 && version != protocol.Version {
		return 0, refuse(events.CodeBadCommand, `body: want "v":%d`, protocol.Version)
	}
	if limit < 0 || limit > listing.MaxLimit {
		return 0, refuse(events.CodeBadCommand, "limit: want 0 to %d", listing.MaxLimit)
	}
	if limit == 0 {
		limit = listing.DefaultLimit
	}
	return limit, nil
}

// fitting is how many of some rows fit into one answer: at least one.
func fitting[R any](rows []R) (int, error) {
	room := maxAnswerBytes
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

func refuse(code events.Code, format string, args ...any) *protocol.RefusedError {
	return &protocol.RefusedError{Code: code, Detail: fmt.Sprintf(format, args...)}
}
