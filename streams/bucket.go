package streams

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
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
