package streams

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// outboxConsumer is the beginning of the names of consumers whose position is that of
// somebody outside.
const outboxConsumer = "webhook-"

// outboxAckWait is how long a commit may be in hand without a word, where options do
// not say it.
const outboxAckWait = 15 * time.Second

// OutboxConsumer is the consumer of each log that keeps how far a webhook is.
func OutboxConsumer(name string) string { return outboxConsumer + name }

// Outbox hands over the commits of the log to somebody outside, whose position in
// each shard the server keeps. Of a shard the next commit is handed over only when
// the one before is settled, to one process at a time: so the order of each chat is
// kept, whoever dies.
type Outbox struct {
	c      *connection
	queues []*queue
}

// OutboxOptions say what an outbox hands over.
type OutboxOptions struct {
	Name      string   // of who gets it; the position is kept under it
	Tenants   []string // whose commits; empty: everybody's
	FromStart bool     // with the oldest commit, where there is no position; else with the next
}

// OpenOutbox gives the outbox, with the position that it has. The connection stays
// the caller's to close, after [Outbox.Close].
func OpenOutbox(ctx context.Context, nc *nats.Conn, o Options, what OutboxOptions) (*Outbox, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	out := &Outbox{c: c}
	shards, err := CheckLog(ctx, c.js)
	if err != nil {
		c.close()
		return nil, err
	}
	for shard := range shards {
		q := newQueue(c, LogStream(shard), OutboxConsumer(what.Name))
		q.restore = func(ctx context.Context) error { return what.keep(ctx, c, shard, o.AckWait) }
		out.queues = append(out.queues, q)
		if err := q.restore(ctx); err != nil {
			out.Close()
			return nil, err
		}
	}
	return out, nil
}

// keep makes the consumer of a shard, or has it hand over what is wanted now. Its
// position stays.
func (o OutboxOptions) keep(ctx context.Context, c *connection, shard int, ackWait time.Duration) error {
	stream := LogStream(shard)
	config := jetstream.ConsumerConfig{
		Durable: OutboxConsumer(o.Name), AckPolicy: jetstream.AckExplicitPolicy, AckWait: cmp.Or(ackWait, outboxAckWait),
		MaxDeliver: -1, MaxAckPending: 1, DeliverPolicy: jetstream.DeliverNewPolicy, Metadata: metadata("webhooks"),
	}
	if o.FromStart {
		config.DeliverPolicy = jetstream.DeliverAllPolicy
	}
	for _, tenant := range o.Tenants {
		config.FilterSubjects = append(config.FilterSubjects, protocol.LogSubject(shard, events.Key{Tenant: tenant, Chat: protocol.Any}))
	}
	has, err := c.js.Consumer(ctx, stream, config.Durable)
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		_, err = c.js.CreateConsumer(ctx, stream, config)
		return translate(err, "make consumer %s of %s", config.Durable, stream)
	}
	if err != nil {
		return translate(err, "look at consumer %s of %s", config.Durable, stream)
	}
	now := has.CachedInfo().Config
	if slices.Equal(now.FilterSubjects, config.FilterSubjects) {
		return nil
	}
	now.FilterSubjects, now.FilterSubject = config.FilterSubjects, ""
	_, err = c.js.UpdateConsumer(ctx, stream, now)
	return translate(err, "change consumer %s of %s", config.Durable, stream)
}

// Shards is how many there are.
func (o *Outbox) Shards() int { return len(o.queues) }

// Next waits for the next commit of a shard.
func (o *Outbox) Next(ctx context.Context, shard int) (protocol.Delivery, error) {
	list, err := o.queues[shard].fetch(ctx, 1)
	if err != nil {
		return nil, err
	}
	return list[0], nil
}

// Close ends what the outbox holds. Its methods must have returned.
func (o *Outbox) Close() {
	for _, q := range o.queues {
		q.close()
	}
	o.c.close()
}

// Backlog is what an outbox has not handed over yet.
type Backlog struct {
	Shards  int    // in which there is a position
	Commits uint64 // that wait, or are in hand
}

// OutboxBacklog says how much waits for somebody outside.
func OutboxBacklog(ctx context.Context, nc *nats.Conn, o Options, name string) (Backlog, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return Backlog{}, err
	}
	defer c.close()
	shards, err := CheckLog(ctx, c.js)
	if err != nil {
		return Backlog{}, err
	}
	var b Backlog
	for shard := range shards {
		consumer, err := c.js.Consumer(ctx, LogStream(shard), OutboxConsumer(name))
		if errors.Is(err, jetstream.ErrConsumerNotFound) {
			continue
		}
		if err != nil {
			return b, translate(err, "look at consumer %s of %s", OutboxConsumer(name), LogStream(shard))
		}
		info := consumer.CachedInfo()
		b.Shards++
		b.Commits += info.NumPending + uint64(max(0, info.NumAckPending))
	}
	return b, nil
}

// ForgetOutbox deletes the position of somebody outside. It reports whether there was
// one.
func ForgetOutbox(ctx context.Context, nc *nats.Conn, o Options, name string) (bool, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return false, err
	}
	defer c.close()
	shards, err := CheckLog(ctx, c.js)
	if err != nil {
		return false, err
	}
	had := false
	for shard := range shards {
		switch err := c.js.DeleteConsumer(ctx, LogStream(shard), OutboxConsumer(name)); {
		case err == nil:
			had = true
		case !errors.Is(err, jetstream.ErrConsumerNotFound):
			return had, fmt.Errorf("forget webhook %s: %w", name, translate(err, "delete its consumer of %s", LogStream(shard)))
		}
	}
	return had, nil
}
