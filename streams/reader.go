package streams

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Reader is what NATS does for those who only read: projections, the checker,
// the command line.
type Reader struct {
	Log   *Log
	Blobs *Blobs

	c *connection
}

// OpenReader checks that the log is there and gives the reading jobs. The
// connection stays the caller's to close, after [Reader.Close].
func OpenReader(ctx context.Context, nc *nats.Conn, o Options) (*Reader, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	shards, err := CheckLog(ctx, c.js)
	if err != nil {
		c.close()
		return nil, fmt.Errorf("open the log: %w", err)
	}
	c.findSole(ctx)
	return &Reader{Log: &Log{c: c, shards: shards}, Blobs: &Blobs{c: c}, c: c}, nil
}

// Manifest gives a manifest by its digest, also one that is offered no more.
func (r *Reader) Manifest(ctx context.Context, d events.Digest) (protocol.Manifest, error) {
	return (&Tools{c: r.c, blobs: r.Blobs}).Manifest(ctx, d)
}

// Command is the first stored command with a sequence of at least from, of a
// chat or of all that [protocol.Any] stands for, or [protocol.ErrNotFound].
func (r *Reader) Command(ctx context.Context, k events.Key, from uint64) (protocol.Stored, error) {
	return (&Commands{c: r.c}).First(ctx, k, from)
}

// Close ends what the reader holds. Its methods must have returned.
func (r *Reader) Close() { r.c.close() }
