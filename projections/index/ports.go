package index

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Log is the log of all chats, for reading from its start.
type Log interface {
	// Shards is how many streams there are.
	Shards() int

	// Follow calls commit with every stored message of stream n from sequence from[n]
	// on, in the order of that stream, first what is there and then what comes. From[n]
	// was read before, and is given again so that it can be compared; 0 is nothing.
	// Ready is called once, when what was there at the start has been given. It returns
	// when ctx ends, with the error of commit or ready, or with an error when a message
	// may be missing: then call it again. An error wraps [protocol.ErrReplaced] if a
	// stream ends before from[n]: it is not the one that was read.
	Follow(ctx context.Context, from []uint64, commit func(shard int, m protocol.Stored) error, ready func() error) error
}

// Blobs keeps large content by its digest.
type Blobs interface {
	// Get gives content that hashes to d, or [protocol.ErrNotFound], or an error
	// that says the stored bytes are damaged.
	Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}
