package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

// noneStored is the fence of a message that must be the only one of its subject.
const noneStored = "0"

// underwayPause is between two tries to store work that somebody else is
// storing at this moment.
const underwayPause = 2 * time.Millisecond

// Work is the queue of what is to be done outside. It implements the work port
// of orchestrators.
type Work struct {
	c      *connection
	queues *workQueues
	words  *queue
}

// Put stores the work unless it is stored already, also while somebody has it
// in hand; it reports whether this call stored it.
func (w *Work) Put(ctx context.Context, work protocol.Work) (bool, error) {
	subject := workSubject(work)
	body, err := json.Marshal(work)
	if err != nil {
		return false, fmt.Errorf("put %s: %w", subject, err)
	}
	if tool, ok := work.(protocol.ToolWork); ok {
		if err := w.queues.ensureGroup(ctx, tool.Group); err != nil {
			return false, err
		}
	}
	for {
		m := &nats.Msg{Subject: subject, Data: body, Header: nats.Header{fenceHeader: {noneStored}}}
		switch _, err := w.c.publish(ctx, m); {
		case underway(err):
			// Whether the other one will be stored is not known yet.
			sleep(ctx, underwayPause)
			if err := ctx.Err(); err != nil {
				return false, translate(err, "put %s", subject)
			}
		case conflict(err):
			return false, nil
		default:
			return err == nil, translate(err, "put %s", subject)
		}
	}
}

// FetchModel waits for at least one attempt of the pool.
func (w *Work) FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error) {
	q, err := w.queues.pool(ctx, pool)
	if err != nil {
		return nil, err
	}
	return q.fetch(ctx, limit)
}

// FetchChat waits for at least one word between chats.
func (w *Work) FetchChat(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return w.words.fetch(ctx, limit)
}

// workSubject is the literal subject that is this work's alone.
func workSubject(work protocol.Work) string {
	if _, ok := work.(protocol.Timer); ok {
		panic("streams: timers have a port of their own") // a bug of the caller
	}
	return protocol.WorkSubject(work)
}
