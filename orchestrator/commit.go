package orchestrator

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

var (
	// errMoved means that the chat has grown since the state was loaded and that
	// nothing was written: load and decide again.
	errMoved = errors.New("the chat has moved on")

	// errTooLarge means that a decision makes a commit over its limit even with
	// its content elsewhere. Deciding again will not help.
	errTooLarge = errors.New("commit is over its limit")
)

// patience says for how long something is tried again that cannot be done now.
// Everything is tried once.
type patience struct {
	until time.Time // zero: as long as the context
	stays bool      // goes on while the orchestrator stops: what is tried was paid for
}

// Pauses between tries.
const (
	firstPause = 5 * time.Millisecond // doubled each time; what is in somebody's way is often gone soon
	maxPause   = 500 * time.Millisecond
)

// again waits before try n+1, counted from 0, and says whether there is to be one.
func (o *Orchestrator) again(ctx context.Context, p patience, n int) bool {
	d := min(firstPause<<min(n, 10), maxPause)
	if ctx.Err() != nil || !p.until.IsZero() && time.Now().Add(d).After(p.until) {
		return false
	}
	stopping := o.stopping
	if p.stays {
		stopping = nil
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-stopping:
		return false
	case <-ctx.Done():
		return false
	}
}

// proposal is a decision that is to become a commit.
type proposal struct {
	key      events.Key
	message  chat.Message
	at       events.Time // of the decision, and so of the commit
	decision chat.Decision
	trace    string
}

// commit writes the decision behind e and gives the state after it. The error
// is [errMoved] if the decision is void.
func (o *Orchestrator) commit(ctx context.Context, e entry, w proposal, p patience) (entry, error) {
	c := events.Commit{
		ID: o.newID(), Key: w.key, Rev: e.state.Rev() + 1, Prev: e.state.Prev(), At: max(w.at, e.state.At()),
		Cause: chat.CauseOf(w.message), Events: w.decision.Events,
	}
	body, err := events.Encode(c)
	if err != nil {
		return entry{}, fmt.Errorf("commit: %w", err)
	}
	if len(body) > events.MaxCommitBytes {
		return entry{}, fmt.Errorf("%w: %d bytes, at most %d are allowed", errTooLarge, len(body), events.MaxCommitBytes)
	}
	c, err = events.Kept(c, body) // what is folded is what everybody will read
	if err != nil {
		return entry{}, fmt.Errorf("commit: read back: %w", err)
	}
	next := entry{state: e.state.Apply(c, events.Hash(body)), bytes: e.bytes + int64(len(body))}

	if err := o.storeLarge(ctx, w, p); err != nil {
		return entry{}, err
	}
	if err := o.storeShared(ctx, w, p); err != nil {
		return entry{}, err
	}
	next.sequence, err = o.append(ctx, protocol.Append{
		Key: w.key, Fence: e.sequence, Body: body, Types: typesOf(c.Events), Owes: chat.Owes(next.state), Trace: w.trace,
	}, p)
	if err != nil {
		return entry{}, err
	}
	o.metrics.stored(ctx, c, len(body))
	o.traced(ctx, e.state, next.state, c, w)
	next.written = &written{at: time.Now()}
	o.cache.put(w.key, next)
	o.offerSnapshot(ctx, next, c.Events)
	return next, nil
}

// at is the time of a commit behind e: the clock's, unless the commit before
// was written by one that is ahead.
func (o *Orchestrator) at(e entry) events.Time {
	return max(events.At(o.cfg.Clock()), e.state.At())
}

// storeLarge puts what the commit names by digest into the object store.
func (o *Orchestrator) storeLarge(ctx context.Context, w proposal, p patience) error {
	for _, large := range w.decision.Large {
		for n := 0; ; n++ {
			err := o.putBlob(ctx, w.key, large)
			if err == nil {
				break
			}
			if !o.again(ctx, p, n) {
				return fmt.Errorf("store content: %w", err)
			}
		}
	}
	return nil
}

func (o *Orchestrator) putBlob(ctx context.Context, k events.Key, c chat.Content) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.ResultTime) // it may be megabytes
	defer cancel()
	return o.bus.Blobs.Put(ctx, k, c.Digest, c.Bytes)
}

// append brings the commit into the log, or finds out that it cannot come there
// any more.
//
// A try that fails says nothing: the bytes may be stored, or on their way. The
// chat's last sequence tells. While it is the fence nothing is stored behind
// it, and the same bytes may be sent again: at most one of them can win, and it
// does not matter which. When it has moved the bytes stand right behind the
// fence, or never will.
func (o *Orchestrator) append(ctx context.Context, a protocol.Append, p patience) (uint64, error) {
	for n := 0; ; n++ {
		sequence, err := o.tryAppend(ctx, a)
		if err == nil {
			return sequence, nil
		}
		last, lastErr := o.last(ctx, a.Key)
		switch {
		case lastErr != nil && !errors.Is(lastErr, protocol.ErrNotFound):
			err = fmt.Errorf("%w; last commit: %w", err, lastErr)
		case last.Sequence < a.Fence:
			return 0, o.stopChat(ctx, a.Key, fmt.Sprintf("its last commit has sequence %d, and was at %d before", last.Sequence, a.Fence))
		case last.Sequence > a.Fence:
			sequence, findErr := o.find(ctx, a, last.Sequence)
			if findErr == nil || errors.Is(findErr, errMoved) {
				return sequence, findErr
			}
			err = fmt.Errorf("%w; look for the commit: %w", err, findErr)
		}
		if !o.again(ctx, p, n) {
			return 0, fmt.Errorf("append: %w", err)
		}
		o.metrics.resent.Add(ctx, 1)
	}
}

func (o *Orchestrator) tryAppend(ctx context.Context, a protocol.Append) (uint64, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	return o.bus.Log.Append(ctx, a)
}

// find gives the sequence of the very bytes of a, which has grown past its
// fence up to through; [errMoved] if another commit stands in their place.
func (o *Orchestrator) find(ctx context.Context, a protocol.Append, through uint64) (uint64, error) {
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	for m, err := range o.bus.Log.Read(try, a.Key, a.Fence, through) {
		if err != nil {
			return 0, err
		}
		if !bytes.Equal(m.Body, a.Body) {
			o.metrics.conflicts.Add(ctx, 1)
			return 0, errMoved
		}
		o.metrics.found.Add(ctx, 1)
		return m.Sequence, nil
	}
	return 0, fmt.Errorf("no commit between %d and %d", a.Fence, through)
}

// typesOf names the events' types, each once, in order.
func typesOf(list []events.Event) string {
	var names []string
	for _, e := range list {
		if name := string(e.EventType()); !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ",")
}
