package bench

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

const (
	eventsPerTurn = 8
	refoldRounds  = 11
)

// loadSize is how much is measured.
type loadSize struct {
	turns  int // of the chat that is loaded
	tail   int // of them behind the older snapshot
	rounds int
}

// fullLoad has an older snapshot that is as old as one gets: fewer than 64 commits.
var fullLoad = loadSize{turns: 250, tail: 15, rounds: 11}

// chatAmong is a chat whose turns lie spread over the whole log, among others.
type chatAmong struct {
	*rig
	key     events.Key
	commits [][]byte

	newest, older []byte // snapshots: at the last commit, and some turns before
}

// measureLoad times how long orchestrators take that have never seen a chat to
// have its state, with the chat's newest snapshot, with an older one, and with
// none.
func measureLoad(ctx context.Context, o Options, size loadSize) (l Load, err error) {
	// Nothing is synced: only reading is timed, and filling would take minutes.
	r, err := startReal(ctx, false, o.Tool)
	if err != nil {
		return l, err
	}
	defer func() { err = errors.Join(err, r.close()) }()
	if _, err := (one{rig: r}).sizes(ctx); err != nil { // the tool is there
		return l, err
	}
	began := time.Now()
	c, err := r.spread(ctx, o.Others, size)
	if err != nil {
		return l, err
	}
	o.Progress(fmt.Sprintf("filled in %s", time.Since(began).Round(time.Millisecond)))
	r.orchestrator.stop()

	l = Load{Events: size.turns * eventsPerTurn, Others: o.Others, Tail: size.tail * len(commitTypes)}
	if l.EventsPerSecond, err = refold(c.commits); err != nil {
		return l, err
	}
	for _, m := range []struct {
		to       *float64
		snapshot []byte
		reads    int
	}{
		{&l.WithSnapshot, c.newest, 0},
		{&l.WithOlder, c.older, 1 + l.Tail}, // and the commit it was made after
		{&l.WithoutSnapshot, nil, len(c.commits)},
	} {
		if *m.to, err = c.loads(ctx, size.rounds, m.snapshot, m.reads); err != nil {
			return l, err
		}
	}
	return l, nil
}

// spread makes the chat, and after each of its turns its share of the others.
func (r *rig) spread(ctx context.Context, others int, size loadSize) (*chatAmong, error) {
	k, ended, err := r.chat(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.watchOnly(k); err != nil {
		return nil, err
	}
	bus, err := streams.Open(ctx, r.nc, streams.Options{})
	if err != nil {
		return nil, err
	}
	defer bus.Close()
	fill, err := r.newFiller()
	if err != nil {
		return nil, err
	}
	defer fill.close()
	c := &chatAmong{rig: r, key: k}
	for n := range size.turns {
		if err := r.turn(ctx, k, ended); err != nil {
			return nil, err
		}
		if n == size.turns-size.tail-1 {
			if c.older, err = r.snapshotAtHead(ctx, bus.Log, k); err != nil {
				return nil, err
			}
		}
		if err := fill.write(ctx, share(others/eventsPerOther, n, size.turns)); err != nil {
			return nil, err
		}
	}
	if c.newest, err = r.snapshotAtHead(ctx, bus.Log, k); err != nil {
		return nil, err
	}
	last, err := bus.Log.Last(ctx, k)
	if err != nil {
		return nil, err
	}
	for m, err := range bus.Log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return nil, err
		}
		c.commits = append(c.commits, m.Body)
	}
	return c, nil
}

// share is the n-th of parts that are as equal as they can be and make whole.
func share(whole, n, parts int) int { return whole*(n+1)/parts - whole*n/parts }

// watchOnly ends that every commit is told: no others.
func (r *rig) watchOnly(k events.Key) error {
	if err := r.feed.Unsubscribe(); err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	var err error
	r.feed, err = r.nc.Subscribe(protocol.FeedCommitSubject(k), r.see)
	return err
}

// loads is the median time of loading the chat, each time by a new orchestrator
// that finds that snapshot, or none, and has to read so many commits.
func (c *chatAmong) loads(ctx context.Context, rounds int, snapshot []byte, reads int) (float64, error) {
	var taken []float64
	for range rounds {
		if err := c.setSnapshot(ctx, snapshot); err != nil {
			return 0, err
		}
		l, err := c.load(ctx, c.key)
		if err != nil {
			return 0, err
		}
		if l.lasts != 1 || l.reads != reads {
			return 0, fmt.Errorf("bench: the last commit was read %d times, and %d commits: want once, and %d", l.lasts, l.reads, reads)
		}
		taken = append(taken, ms(l.end.Sub(l.start)))
	}
	return median(taken), nil
}

// setSnapshot has the store hold that snapshot of the chat, or none.
func (c *chatAmong) setSnapshot(ctx context.Context, content []byte) error {
	kv, err := c.js.KeyValue(ctx, streams.SnapshotsBucket)
	if err != nil {
		return fmt.Errorf("bench: %w", err)
	}
	if content == nil {
		err = kv.Purge(ctx, streams.SnapshotKey(c.key, chat.FoldVersion))
	} else {
		_, err = kv.Put(ctx, streams.SnapshotKey(c.key, chat.FoldVersion), content)
	}
	if err != nil {
		return fmt.Errorf("bench: set the snapshot: %w", err)
	}
	return nil
}

// refold gives how many events a second are decoded and folded, from memory.
func refold(commits [][]byte) (float64, error) {
	var rates []float64
	for range refoldRounds {
		folded := 0
		start := time.Now()
		var s chat.State
		for _, b := range commits {
			c, err := events.Decode(b)
			if err != nil {
				return 0, err
			}
			s = s.Apply(c, events.Hash(b))
			folded += len(c.Events)
		}
		rates = append(rates, float64(folded)/time.Since(start).Seconds())
	}
	return median(rates), nil
}
