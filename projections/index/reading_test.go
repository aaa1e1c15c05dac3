package index

import (
	"context"
	"fmt"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// reading is the same logs as transcripts are read from.
type reading struct{ *logs }

func (l reading) of(k events.Key) []protocol.Stored {
	l.mu.Lock()
	defer l.mu.Unlock()
	n := protocol.Shard(k, shards)
	var list []protocol.Stored
	for _, m := range l.stored[n] {
		if m.Subject == protocol.LogSubject(n, k) && m.Body != nil {
			list = append(list, m)
		}
	}
	return list
}

// Last implements the port of projections.
func (l reading) Last(_ context.Context, k events.Key) (protocol.Stored, error) {
	list := l.of(k)
	if len(list) == 0 {
		return protocol.Stored{}, fmt.Errorf("log of %s: %w", k, protocol.ErrNotFound)
	}
	return list[len(list)-1], nil
}

// Read implements the port of projections.
func (l reading) Read(_ context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		for _, m := range l.of(k) {
			if m.Sequence > after && m.Sequence <= through && !yield(m, nil) {
				return
			}
		}
	}
}
