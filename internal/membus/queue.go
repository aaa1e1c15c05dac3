package membus

import (
	"context"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// queue is a work-queue stream: a message stays until it is acknowledged.
type queue struct {
	messages []*message // by sequence
	last     uint64
}

// message is stored, and handed over again and again until it is settled.
type message struct {
	protocol.Stored
	count   uint64    // deliveries so far
	visible time.Time // not handed over before
}

func newQueue() *queue { return &queue{} }

func (q *queue) put(subject string, header map[string][]string, body []byte) *message {
	q.last++
	m := &message{Stored: protocol.Stored{
		Subject: subject, Sequence: q.last, Time: time.Now(), Header: header, Body: slices.Clone(body),
	}}
	q.messages = append(q.messages, m)
	return m
}

// holds reports whether a message of the subject is stored, in hand or not.
func (q *queue) holds(subject string) bool {
	return slices.ContainsFunc(q.messages, func(m *message) bool { return m.Subject == subject })
}

// from is the first message from a sequence on that matches.
func (q *queue) from(sequence uint64, prefix string) (protocol.Stored, error) {
	for _, m := range q.messages {
		if m.Sequence >= sequence && strings.HasPrefix(m.Subject, prefix) {
			return m.Stored, nil
		}
	}
	return protocol.Stored{}, protocol.ErrNotFound
}

func (q *queue) remove(sequence uint64) {
	i := sort.Search(len(q.messages), func(i int) bool { return q.messages[i].Sequence >= sequence })
	if i < len(q.messages) && q.messages[i].Sequence == sequence {
		q.messages = slices.Delete(q.messages, i, i+1)
	}
}

// removeOf removes all attempts and calls of a chat.
func (q *queue) removeOf(k events.Key) {
	of := "." + k.String() + "."
	q.messages = slices.DeleteFunc(q.messages, func(m *message) bool {
		_, after, _ := strings.Cut(m.Subject, of)
		return after != "" && !strings.Contains(after, ".") && !strings.HasPrefix(m.Subject, chatWorkPrefix)
	})
}

func (q *queue) get(sequence uint64) (*message, bool) {
	i := sort.Search(len(q.messages), func(i int) bool { return q.messages[i].Sequence >= sequence })
	if i < len(q.messages) && q.messages[i].Sequence == sequence {
		return q.messages[i], true
	}
	return nil, false
}

// deliverable are the messages under a prefix that may be handed over now, in order.
func (q *queue) deliverable(prefix string) []*message {
	var ready []*message
	now := time.Now()
	for _, m := range q.messages {
		if !m.visible.After(now) && strings.HasPrefix(m.Subject, prefix) {
			ready = append(ready, m)
		}
	}
	return ready
}

// fetch waits for at least one message under the prefix, for p.
func (q *queue) fetch(ctx context.Context, p *Process, kind, prefix string, limit int) ([]protocol.Delivery, error) {
	s := p.server
	op := Op{Kind: kind, Subject: prefix, Stage: StageMust, ready: func() bool {
		s.fire()
		return len(q.deliverable(prefix)) > 0
	}}
	return step(ctx, p, op, func(f Fate) ([]protocol.Delivery, error) {
		s.fire()
		ready := q.deliverable(prefix)
		handed := make([]protocol.Delivery, 0, min(limit, len(ready)))
		for _, m := range ready[:min(limit, len(ready))] {
			m.count++
			m.visible = time.Now().Add(s.options.AckWait)
			if f.Twice { // the server thinks it was not received
				m.visible = time.Now()
			}
			handed = append(handed, &delivery{process: p, queue: q, kind: kind, stored: m.Stored, count: m.count})
		}
		s.change()
		return handed, nil
	})
}

// delivery implements [protocol.Delivery].
type delivery struct {
	process *Process
	queue   *queue
	kind    string
	stored  protocol.Stored
	count   uint64
}

func (d *delivery) Subject() string          { return d.stored.Subject }
func (d *delivery) Header(key string) string { return d.stored.Get(key) }
func (d *delivery) Body() []byte             { return d.stored.Body }
func (d *delivery) Sequence() uint64         { return d.stored.Sequence }
func (d *delivery) Count() uint64            { return d.count }
func (d *delivery) Stored() time.Time        { return d.stored.Time }

func (d *delivery) InProgress(ctx context.Context) error {
	return d.settle(ctx, "progress", func(m *message) {
		m.visible = time.Now().Add(d.process.server.options.AckWait)
	})
}

func (d *delivery) Ack(ctx context.Context) error {
	return d.settle(ctx, "ack", func(m *message) {
		d.queue.remove(m.Sequence)
		d.process.server.settled(d.kind+".ack", m.Stored)
	})
}

func (d *delivery) Later(ctx context.Context, delay time.Duration) error {
	return d.settle(ctx, "later", func(m *message) { m.visible = time.Now().Add(delay) })
}

// settle does something to the message if it is still there. As with the real
// server, also a delivery that is not the newest may.
func (d *delivery) settle(ctx context.Context, what string, effect func(m *message)) error {
	op := Op{Kind: d.kind + "." + what, Subject: d.stored.Subject, Stage: StageWrite}
	_, err := step(ctx, d.process, op, func(Fate) (struct{}, error) {
		if m, ok := d.queue.get(d.stored.Sequence); ok {
			effect(m)
			d.process.server.change()
		}
		return struct{}{}, nil
	})
	return err
}
