package streams

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Feed carries what is worth watching while it happens. It implements the feed
// port of orchestrators.
type Feed struct{ c *connection }

// Delta publishes without waiting for the server.
func (f *Feed) Delta(_ context.Context, k events.Key, d protocol.Delta) error {
	return f.c.tell(protocol.FeedDeltaSubject(k), d)
}

// errEnough ends a follower that has read what it wanted.
var errEnough = errors.New("read to the end")

// Deltas are those of an attempt that the feed still has, in order.
func (f *Feed) Deltas(ctx context.Context, k events.Key, step events.StepID, attempt int) ([]protocol.Delta, error) {
	var all []protocol.Delta
	follow := follower{
		c: f.c, sources: []source{{stream: FeedStream, filter: protocol.FeedDeltaSubject(k)}}, policy: jetstream.DeliverAllPolicy,
		on: func(m *nats.Msg, _ *nats.MsgMetadata) error {
			var d protocol.Delta
			if json.Unmarshal(m.Data, &d) == nil && d.Step == step && d.Attempt == attempt {
				all = append(all, d)
			}
			return nil
		},
		ready: func() error { return errEnough },
	}
	if err := follow.run(ctx); !errors.Is(err, errEnough) {
		return nil, err
	}
	return all, nil
}
