package projections

import (
	"context"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Log is the append-only log of all chats, for reading.
type Log interface {
	// Last is the chat's newest commit as the leader has it, never older than
	// the newest acknowledged one. [protocol.ErrNotFound] if the chat has none.
	Last(ctx context.Context, k events.Key) (protocol.Stored, error)

	// Read yields the chat's commits with after < sequence <= through, in order:
	// all of them, or an error.
	Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error]
}

// Blobs keeps large content by its digest.
type Blobs interface {
	// Get gives content that hashes to d, or [protocol.ErrNotFound], or an error
	// that says the stored bytes are damaged.
	Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}
