package streams

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
)

const (
	// maxFetch bounds one fetch, and the messages a pull's lane must hold.
	maxFetch = 1024

	// A pull waits this long at the server, which then says so. One that was
	// lost with its server is given up a little later.
	pullExpiry = 3 * time.Second
	pullGrace  = 500 * time.Millisecond

	// pullEnd is how long after a pull's first message its end may take. It
	// comes at once, except when the consumer has as many messages in hand as
	// it may.
	pullEnd = 50 * time.Millisecond

	// Between two pulls that nobody answers.
	minPullPause = 50 * time.Millisecond
	maxPullPause = time.Second
)

// queue hands over the messages of a durable consumer, and never holds one that
// nobody has asked for: when a fetch has returned, none is on its way.
//
// A server with leaf nodes or gateways may try a pull that was given up for two
// more seconds. It finds nobody and delivers elsewhere at once, but counts both:
// there a delivery count above one does not prove that somebody had the message.
type queue struct {
	c        *connection
	stream   string
	consumer string
	lanes    lanes

	// restore makes the consumer again if it is gone; nil if that is not ours to
	// do. It may be called at any time, and fail.
	restore func(context.Context) error
}

func newQueue(c *connection, stream, consumer string) *queue {
	return &queue{c: c, stream: stream, consumer: consumer, lanes: lanes{nc: c.nc, size: maxFetch + requestChan}}
}

// pull is the body of a request for messages.
type pull struct {
	Batch   int           `json:"batch"`
	Expires time.Duration `json:"expires"`
	// AtOnce ends the pull when no more messages are there, after the first one
	// has come: it waits for one message and then only takes what waits as well.
	AtOnce bool `json:"no_wait,omitempty"`
}

// fetch waits for at least one message and gives at most limit. It gives
// ctx's error when that ends.
func (q *queue) fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	ask := pull{Batch: min(max(limit, 1), maxFetch), Expires: pullExpiry, AtOnce: true}
	pause := minPullPause
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		got, end, err := q.once(ctx, ask)
		if err != nil {
			return nil, translate(err, "fetch from %s of %s", q.consumer, q.stream)
		}
		if len(got) > 0 {
			return got, nil
		}
		switch end {
		case endWaited:
			pause = minPullPause
		case endBusy:
			// Those who asked before get all that is there; take a place in line.
			ask = pull{Batch: 1, Expires: pullExpiry}
		case endNobody:
			if q.restore != nil {
				_ = q.restore(ctx) // in vain until the stream is there; then a later one is not
			}
			sleep(ctx, pause)
			pause = min(2*pause, maxPullPause)
		}
	}
}

// ending says why a pull brought no more.
type ending int

const (
	endWaited ending = iota // its time is over
	endBusy                 // others wait for more than there is
	endNobody               // the consumer has no leader, was removed, or takes no more pulls
)

// once sends one pull request and gives what it brings.
func (q *queue) once(ctx context.Context, ask pull) ([]protocol.Delivery, ending, error) {
	body, err := json.Marshal(ask)
	if err != nil {
		return nil, 0, err
	}
	reconnects := q.c.nc.Stats().Reconnects
	reconnected, asked := q.c.reconnect(), time.Now()
	l, err := q.lanes.take()
	if err != nil {
		return nil, 0, err
	}
	reply := l.next()
	request := &nats.Msg{Subject: q.c.prefix + "CONSUMER.MSG.NEXT." + q.stream + "." + q.consumer, Reply: reply, Data: body}
	if err := q.c.nc.PublishMsg(request); err != nil {
		q.lanes.discard(l)
		return nil, 0, err
	}
	late := time.NewTimer(pullExpiry + pullGrace)
	defer late.Stop()
	var got []*nats.Msg
	for len(got) < ask.Batch {
		select {
		case m := <-l.messages:
			switch {
			case !l.status(m):
				got = append(got, m)
				late.Reset(pullEnd)
			case m.Subject == reply: // else of an earlier pull
				q.lanes.put(l)
				return q.deliveries(got, reconnects, endingOf(m, time.Since(asked)))
			}
		case <-late.C:
			return q.deliveries(append(got, q.rest(l)...), reconnects, endWaited)
		case <-reconnected:
			return q.deliveries(append(got, q.rest(l)...), reconnects, endWaited)
		case <-ctx.Done():
			return q.deliveries(append(got, q.rest(l)...), reconnects, endWaited)
		}
	}
	q.lanes.put(l)
	return q.deliveries(got, reconnects, endWaited)
}

// rest ends a pull before its time and gives what has come meanwhile.
func (q *queue) rest(l *lane) []*nats.Msg {
	return slices.DeleteFunc(q.lanes.empty(l), l.status)
}

func (q *queue) deliveries(got []*nats.Msg, reconnects uint64, end ending) ([]protocol.Delivery, ending, error) {
	out := make([]protocol.Delivery, len(got))
	for i, m := range got {
		d, err := newDelivery(q.c.nc, m, reconnects)
		if err != nil {
			return nil, 0, err
		}
		out[i] = d
	}
	return out, end, nil
}

// endingOf reads the status that ends a pull after some time.
func endingOf(m *nats.Msg, after time.Duration) ending {
	switch m.Header.Get(statusHeader) {
	case statusTimeout:
		if after < pullExpiry/2 {
			return endBusy
		}
		return endWaited
	case statusNone:
		return endWaited
	}
	return endNobody
}

// sleep waits for a while or until ctx ends.
func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
	}
}

func (q *queue) close() { q.lanes.close() }
