package orchestrator

import (
	"context"
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// tombstone is a chat whose newest commit says that it is erased. What may be left
// from before is not looked at: it is being deleted.
func (o *Orchestrator) tombstone(ctx context.Context, k events.Key, last protocol.Stored) (entry, error) {
	c, err := events.Decode(last.Body)
	if err != nil {
		return entry{}, err
	}
	if _, is := c.Events[0].(events.ChatErased); is {
		return o.fold(ctx, k, entry{}, last)
	}
	return o.read(ctx, k, entry{}, last.Sequence) // nothing else was left when the commit behind the tombstone was written
}

// deleteContent deletes everything of an erased chat but its tombstone, if that is
// still to be done. It may be broken off anywhere and done again, by several at once,
// too: what is left says itself what is to be done.
//
// Commits go first, from the newest to the oldest, so that what is left is always the
// beginning of a log and its tombstone.
func (o *Orchestrator) deleteContent(ctx context.Context, d protocol.Delivery, k events.Key) error {
	e, err := o.fresh(ctx, k)
	if err != nil || !e.state.DeletionOwed() {
		return err
	}
	keep := o.progress(d)
	commits, err := o.deleteCommits(ctx, k, e.sequence, keep)
	if err != nil {
		return err
	}
	contents, err := o.deleteBlobs(ctx, k, keep)
	if err != nil {
		return err
	}
	try, cancel := context.WithTimeout(ctx, o.cfg.ResultTime)
	defer cancel()
	if err := o.bus.Work.Delete(try, k); err != nil { // a call may wait for a runner that never comes
		return fmt.Errorf("delete content: %w", err)
	}
	if err := o.bus.Snapshots.Delete(try, k); err != nil {
		return fmt.Errorf("delete content: %w", err)
	}
	if err := o.bus.Dead.Delete(try, k); err != nil {
		return fmt.Errorf("delete content: %w", err)
	}
	o.log.Info("content of an erased chat deleted", "chat", k, "commits", commits, "contents", contents)
	return nil
}

// deleteCommits deletes the commits before the tombstone, which has that sequence.
func (o *Orchestrator) deleteCommits(ctx context.Context, k events.Key, before uint64, keep func(context.Context)) (int, error) {
	reading, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	var sequences []uint64
	for m, err := range o.bus.Log.Read(reading, k, 0, before) {
		if err != nil {
			return 0, fmt.Errorf("read what is to be deleted: %w", err)
		}
		if m.Sequence < before {
			sequences = append(sequences, m.Sequence)
		}
	}
	for _, sequence := range slices.Backward(sequences) {
		keep(ctx)
		try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
		err := o.bus.Log.Delete(try, k, sequence)
		cancel()
		if err != nil {
			return 0, fmt.Errorf("delete content: %w", err)
		}
	}
	return len(sequences), nil
}

// deleteBlobs deletes all content, also what nothing in the log refers to.
func (o *Orchestrator) deleteBlobs(ctx context.Context, k events.Key, keep func(context.Context)) (int, error) {
	try, cancel := context.WithTimeout(ctx, o.cfg.ResultTime)
	defer cancel()
	contents, err := o.bus.Blobs.Of(try, k)
	if err != nil {
		return 0, fmt.Errorf("delete content: %w", err)
	}
	for _, d := range contents {
		keep(ctx)
		if err := o.deleteBlob(ctx, k, d); err != nil {
			return 0, fmt.Errorf("delete content: %w", err)
		}
	}
	return len(contents), nil
}

func (o *Orchestrator) deleteBlob(ctx context.Context, k events.Key, d events.Digest) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.ResultTime) // it may be megabytes
	defer cancel()
	return o.bus.Blobs.Delete(ctx, k, d)
}
