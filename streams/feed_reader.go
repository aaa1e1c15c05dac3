package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	// feedChan is how many messages of the feed may wait for who follows it. More are
	// dropped, and that is told.
	feedChan = 16 << 10

	// feedLook is between two looks whether some were dropped.
	feedLook = time.Second
)

// FeedReader is the feed of all tenants, for gateways. It may be used over a
// connection that is allowed nothing but to watch.
type FeedReader struct{ c *connection }

// OpenFeed gives the feed over a connection, which stays the caller's to close, after
// [FeedReader.Close]. It asks the server nothing.
func OpenFeed(nc *nats.Conn, o Options) (*FeedReader, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	return &FeedReader{c: c}, nil
}

// Close ends what the reader holds. Its methods must have returned.
func (f *FeedReader) Close() { f.c.close() }

// Deltas are those of an attempt that the feed still has, in order.
func (f *FeedReader) Deltas(ctx context.Context, k events.Key, step events.StepID, attempt int) ([]protocol.Delta, error) {
	ctx, cancel := context.WithTimeout(ctx, f.c.try)
	defer cancel()
	return (&Feed{c: f.c}).Deltas(ctx, k, step, attempt)
}

// Follow calls on with each message, one after the other, until ctx ends. It calls
// gap, on the same goroutine, when it has begun and whenever messages may have been
// missed: the connection was lost and is back, or on was too slow. Nobody must rely
// on having heard everything in between. A connection that is closed ends it.
func (f *FeedReader) Follow(ctx context.Context, gap func(), on func(k events.Key, kind protocol.FeedKind, body []byte)) error {
	reconnected := f.c.reconnect()
	messages := make(chan *nats.Msg, feedChan)
	sub, err := f.c.nc.ChanSubscribe(protocol.FeedFilter(protocol.Any), messages)
	if err != nil {
		return fmt.Errorf("follow the feed: %w", err)
	}
	defer func() { _ = sub.Unsubscribe() }() // fails only on a closed connection
	heard := f.flush(ctx)
	if heard {
		gap()
	}
	look := time.NewTicker(feedLook)
	defer look.Stop()
	dropped := 0
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case m := <-messages:
			if k, kind, err := protocol.ParseFeedSubject(m.Subject); err == nil { // else somebody else's
				on(k, kind, m.Data)
			}
		case <-reconnected:
			reconnected = f.c.reconnect()
			if heard = f.flush(ctx); heard {
				gap()
			}
		case <-look.C:
			n, err := sub.Dropped()
			if err != nil {
				return fmt.Errorf("follow the feed: %w", err)
			}
			if n == dropped && heard {
				continue
			}
			if heard = f.flush(ctx); heard {
				dropped = n
				gap()
			}
		}
	}
}

// flush waits until the server knows what was subscribed to. It reports whether it does.
func (f *FeedReader) flush(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, f.c.try)
	defer cancel()
	return f.c.nc.FlushWithContext(ctx) == nil
}
