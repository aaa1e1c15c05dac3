package index

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everturn/everturn/protocol"
)

// Sizes of what is written at once.
const (
	maxBatch      = 1_000   // messages of one transaction
	maxBatchBytes = 8 << 20 // and their size
)

// tidyEach is between two tries to tidy up.
const tidyEach = time.Second

// fed is a message on its way into a file, or the word that all that was there has
// been given.
type fed struct {
	item  item
	ready bool
}

// ahead counts the bytes that were read and are not in the file yet: a history that a
// chat goes on from may be a thousand times larger than the message that names it.
type ahead struct {
	bytes atomic.Int64
	fewer chan struct{} // has room for one word that there are fewer
}

func newAhead() *ahead { return &ahead{fewer: make(chan struct{}, 1)} }

// add counts bytes, when fewer than maxBatchBytes are on their way; so there is always
// one message. Only one goroutine may call it.
func (a *ahead) add(ctx context.Context, bytes int) error {
	for a.bytes.Load() >= maxBatchBytes {
		select {
		case <-a.fewer:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	a.bytes.Add(int64(bytes))
	return nil
}

// take counts no more what is in the file.
func (a *ahead) take(bytes int) {
	a.bytes.Add(-int64(bytes))
	select {
	case a.fewer <- struct{}{}:
	default: // it is said already
	}
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
	coming, ahead := make(chan fed, maxBatch), newAhead()
	waiting := &patient{blobs: blobs}
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
			i, err := read(ctx, shard, m, waiting)
			if err != nil {
				return err
			}
			if m.Sequence == known[shard].sequence { // the last one that was read: it must be the same
				if i.hash != known[shard].hash {
					return fmt.Errorf("index: message %d of stream %d: %w", m.Sequence, shard, protocol.ErrReplaced)
				}
				return nil
			}
			if err := ahead.add(ctx, i.bytes); err != nil {
				return err
			}
			return hand(fed{item: i})
		}, func() error { return hand(fed{ready: true}) })
		cancel(err)
	})
	err := s.drain(ctx, coming, ahead, caught)
	cancel(err)
	reader.Wait()
	if err == nil || errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	return err
}

// drain writes what comes: as much at once as has come meanwhile. What is to be tidied
// up is, also when nothing comes.
func (s *store) drain(ctx context.Context, coming <-chan fed, ahead *ahead, caught func() error) error {
	for {
		var tidy <-chan time.Time
		if s.untidy {
			tidy = time.After(tidyEach)
		}
		var first fed
		var ok bool
		select {
		case first, ok = <-coming:
		case <-tidy:
			if err := s.tidy(ctx); err != nil {
				return err
			}
			continue
		}
		if !ok {
			return ctx.Err()
		}
		var batch []item
		bytes, ready := 0, false
		take := func(f fed) {
			if ready = ready || f.ready; !f.ready {
				batch, bytes = append(batch, f.item), bytes+f.item.bytes
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
			ahead.take(bytes)
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
