package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/klauspost/compress/s2"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// snapshotPatience is how long a snapshot may come after the commit it is of.
const snapshotPatience = 30 * time.Second

// lastOf is the part of the log that knows a chat's newest commit.
type lastOf interface {
	Last(ctx context.Context, k events.Key) (protocol.Stored, error)
}

// snapshotAtHead waits until the chat's snapshot is one of its newest commit,
// and gives it. Orchestrators write them some time after a turn.
func (r *rig) snapshotAtHead(ctx context.Context, log lastOf, k events.Key) ([]byte, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, snapshotPatience, fmt.Errorf("no snapshot within %s", snapshotPatience))
	defer cancel()
	last, err := log.Last(ctx, k)
	if err != nil {
		return nil, err
	}
	kv, err := r.js.KeyValue(ctx, streams.SnapshotsBucket)
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	watcher, err := kv.Watch(ctx, streams.SnapshotKey(k, chat.FoldVersion))
	if err != nil {
		return nil, fmt.Errorf("bench: %w", err)
	}
	defer func() { _ = watcher.Stop() }() // fails only on a closed connection
	for {
		select {
		case e := <-watcher.Updates():
			if e == nil || len(e.Value()) == 0 {
				continue // that is all there is now
			}
			sequence, err := snapshotSequence(e.Value())
			if err != nil {
				return nil, err
			}
			if sequence == last.Sequence {
				return e.Value(), nil
			}
		case <-ctx.Done():
			return nil, fmt.Errorf("bench: snapshot of %s: %w", k, context.Cause(ctx))
		}
	}
}

// snapshotSequence is the place in the log of the commit that a snapshot is of.
func snapshotSequence(content []byte) (uint64, error) {
	b, err := s2.Decode(nil, content)
	if err != nil {
		return 0, fmt.Errorf("bench: snapshot: %w", err)
	}
	var s struct {
		Sequence uint64 `json:"seq"`
	}
	if err := json.NewDecoder(bytes.NewReader(b)).Decode(&s); err != nil { // what follows it is not looked at
		return 0, fmt.Errorf("bench: snapshot: %w", err)
	}
	return s.Sequence, nil
}
