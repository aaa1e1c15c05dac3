package streams

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// bucketOperation marks a message of a bucket that takes a value away.
const bucketOperation = "KV-Operation"

// keep has a bucket keep a value under a subject, in place of the one before.
func (c *connection) keep(ctx context.Context, subject string, value []byte) error {
	_, err := c.publish(ctx, &nats.Msg{Subject: c.bucketWrite(subject), Data: value})
	return err
}

// forget takes the value under a subject away. That there is none is no error.
func (c *connection) forget(ctx context.Context, subject string) error {
	_, err := c.publish(ctx, &nats.Msg{Subject: c.bucketWrite(subject), Header: nats.Header{bucketOperation: {"DEL"}}})
	return err
}

// mirror follows what a bucket keeps under filter: enter takes each message, and tell is
// called when all that was there has been entered, and then after each. Told says whether
// that has happened, so that somebody may hold what enter is about to change. It lasts
// until ctx ends, either fails, or a message may be missing.
func (c *connection) mirror(
	ctx context.Context, stream, filter string, enter func(m *nats.Msg, told bool) error, tell func() error,
) error {
	told := false
	f := follower{
		c: c, sources: []source{{stream: stream, filter: filter}}, policy: jetstream.DeliverLastPerSubjectPolicy,
		on: func(m *nats.Msg, _ *nats.MsgMetadata) error {
			if err := enter(m, told); err != nil || !told {
				return err
			}
			return tell()
		},
		ready: func() error {
			told = true
			return tell()
		},
	}
	return f.run(ctx)
}

// errListed ends a look at what there is.
var errListed = errors.New("all have been listed")

// listed is the first that follow gives: what there was when it began.
func listed[T any](ctx context.Context, follow func(context.Context, func(T) error) error) (T, error) {
	var list, none T
	err := follow(ctx, func(all T) error {
		list = all
		return errListed
	})
	if !errors.Is(err, errListed) {
		return none, err
	}
	return list, nil
}
