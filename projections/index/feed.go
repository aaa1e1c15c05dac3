package index

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/everturn/everturn/protocol"
)

// Sizes of what is written at once.
const (
	maxBatch      = 1_000   // messages of one transaction
	maxBatchBytes = 8 << 20 // and their size
)

// fed is a message on its way into a file, or the word that all that was there has
// been given.
type fed struct {
	item  item
	bytes int
	ready bool
}

// feed reads the logs into a file from where it stands, until ctx ends or it cannot go
// on. Caught is called when everything is in the file that was stored when it began;
// its error ends the feeding.
func (s *store) feed(ctx context.Context, log Log, blobs Blobs, caught func() error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	from, known := make([]uint64, s.shards), *s.positions.Load()
	for n, p := range known {
		from[n] = p.sequence
	}
	coming := make(chan fed, maxBatch)
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(coming)
		hand := func(f fed) error {
			select {
			case coming <- f:
				return nil
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		err := log.Follow(ctx, from, func(shard int, m protocol.Stored) error {
			i, err := read(ctx, shard, m, blobs)
			if err != nil {
				return err
			}
			if m.Sequence == known[shard].sequence { // the last one that was read: it must be the same
				if i.hash != known[shard].hash {
					return fmt.Errorf("index: message %d of stream %d: %w", m.Sequence, shard, protocol.ErrReplaced)
				}
				return nil
			}
			return hand(fed{item: i, bytes: len(m.Body)})
		}, func() error { return hand(fed{ready: true}) })
		cancel(err)
	})
	err := s.drain(ctx, coming, caught)
	cancel(err)
	reader.Wait()
	if err == nil || errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return err
}

// drain writes what comes: as much at once as has come meanwhile.
func (s *store) drain(ctx context.Context, coming <-chan fed, caught func() error) error {
	for {
		first, ok := <-coming
		if !ok {
			return ctx.Err()
		}
		var batch []item
		bytes, ready := 0, false
		take := func(f fed) {
			if ready = ready || f.ready; !f.ready {
				batch, bytes = append(batch, f.item), bytes+f.bytes
			}
		}
		take(first)
		for more := true; more && !ready && len(batch) < maxBatch && bytes < maxBatchBytes; {
			select {
			case f, ok := <-coming:
				if more = ok; ok {
					take(f)
				}
			default:
				more = false
			}
		}
		if len(batch) > 0 {
			if err := s.apply(context.WithoutCancel(ctx), batch); err != nil { // what is begun is ended: it is bounded
				return err
			}
		}
		if ready {
			if err := s.finish(ctx); err != nil {
				return err
			}
			if err := caught(); err != nil {
				return err
			}
		}
	}
}
