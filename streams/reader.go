package streams

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Reader is what NATS does for those who only read: projections, the checker,
// the command line.
type Reader struct {
	Log    *Log
	Blobs  *Blobs
	Agents *Agents
	Skills *Skills
	Tokens *Tokens
	Tools  *Tools // offers nothing

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
	blobs := &Blobs{c: c}
	return &Reader{
		Log: &Log{c: c, shards: shards}, Blobs: blobs, Agents: &Agents{c: c}, Skills: &Skills{c: c}, Tokens: &Tokens{c: c}, Tools: &Tools{c: c, blobs: blobs}, c: c,
	}, nil
}

// Manifest gives a manifest by its digest, also one that is offered no more.
func (r *Reader) Manifest(ctx context.Context, d events.Digest) (protocol.Manifest, error) {
	return r.Tools.Manifest(ctx, d)
}

// Command is the first stored command with a sequence of at least from, of a
// chat or of all that [protocol.Any] stands for, or [protocol.ErrNotFound].
func (r *Reader) Command(ctx context.Context, k events.Key, from uint64) (protocol.Stored, error) {
	return (&Commands{c: r.c}).First(ctx, k, from)
}

// Snapshot is the chat's stored snapshot of that version of its form, or
// [protocol.ErrNotFound]: it may be gone, alone or with all others.
func (r *Reader) Snapshot(ctx context.Context, k events.Key, version int) ([]byte, error) {
	content, err := (&Snapshots{c: r.c}).Get(ctx, k, version)
	if err == nil || errors.Is(err, protocol.ErrNotFound) {
		return content, err
	}
	if _, gone := r.c.js.Stream(ctx, snapshotsStream); errors.Is(gone, jetstream.ErrStreamNotFound) {
		return nil, fmt.Errorf("get snapshot of %s: %w", k, protocol.ErrNotFound)
	}
	return nil, err
}

// Close ends what the reader holds. Its methods must have returned.
func (r *Reader) Close() { r.c.close() }
