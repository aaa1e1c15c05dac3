package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Commands is the queue of what clients want. It implements the commands port
// of orchestrators.
type Commands struct {
	c     *connection
	queue *queue
}

// Fetch waits for at least one command and hands over at most limit.
func (q *Commands) Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return q.queue.fetch(ctx, limit)
}

// First is the chat's first stored command with a sequence of at least from, by
// the leader's word, or [protocol.ErrNotFound]. With [protocol.Any] as the chat it is
// that of the whole tenant.
func (q *Commands) First(ctx context.Context, k events.Key, from uint64) (protocol.Stored, error) {
	return q.c.leader(ctx, CommandsStream, get{Next: protocol.CommandSubject(k, protocol.Any), Sequence: from})
}

// Oldest is the first stored command of all chats from that sequence on, or
// [protocol.ErrNotFound].
func (q *Commands) Oldest(ctx context.Context, from uint64) (protocol.Stored, error) {
	return q.First(ctx, anyChat(), from)
}

// Delete removes a stored command. One that is gone is no error.
func (q *Commands) Delete(ctx context.Context, sequence uint64) error {
	err := translate(q.c.remove(ctx, CommandsStream, sequence), "delete command %d", sequence)
	if errors.Is(err, protocol.ErrNotFound) {
		return nil
	}
	return err
}

// Reply tells whoever listens for a command's outcome. That it arrives is not
// promised.
func (q *Commands) Reply(_ context.Context, tenant string, r protocol.Reply) error {
	body, err := json.Marshal(r)
	if err != nil {
		return fmt.Errorf("reply to %s: %w", r.ID, err)
	}
	m := &nats.Msg{Subject: protocol.ReplySubject(tenant, r.ID), Data: body}
	if err := q.c.nc.PublishMsg(m); err != nil {
		return fmt.Errorf("reply to %s: %w", r.ID, err)
	}
	return nil
}

// remove deletes a message without overwriting its bytes.
func (c *connection) remove(ctx context.Context, stream string, sequence uint64) error {
	return c.deleteMessage(ctx, stream, sequence, true)
}

// erase deletes a message and overwrites its bytes. One that is gone is no error.
func (c *connection) erase(ctx context.Context, stream string, sequence uint64) error {
	err := translate(c.deleteMessage(ctx, stream, sequence, false), "erase message %d of %s", sequence, stream)
	if errors.Is(err, protocol.ErrNotFound) {
		return nil
	}
	return err
}

// eraseAll erases all messages of a stream that a filter names.
func (c *connection) eraseAll(ctx context.Context, stream, filter string) error {
	for {
		m, err := c.leader(ctx, stream, get{Next: filter, Sequence: 1})
		if errors.Is(err, protocol.ErrNotFound) {
			return nil
		}
		if err == nil {
			err = c.erase(ctx, stream, m.Sequence)
		}
		if err != nil {
			return err
		}
	}
}

func (c *connection) deleteMessage(ctx context.Context, stream string, sequence uint64, keepBytes bool) error {
	var answer struct{ apiAnswer }
	err := c.api(ctx, "STREAM.MSG.DELETE."+stream, struct {
		Sequence uint64 `json:"seq"`
		NoErase  bool   `json:"no_erase"`
	}{sequence, keepBytes}, &answer)
	if codeOf(err) == codeDeleteFailed { // in a cluster also for one that is gone
		if _, gone := c.leader(ctx, stream, get{Sequence: sequence}); gone != nil {
			return gone
		}
	}
	return err
}
