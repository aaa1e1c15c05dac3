package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// readTimeout bounds the reading of a whole log.
const readTimeout = time.Minute

// stoppedError means that the chat's log is damaged. This process neither reads
// nor writes it any more; Why is for people.
type stoppedError struct{ why string }

func (e *stoppedError) Error() string { return "chat is stopped: " + e.why }

func isStopped(err error) bool {
	_, stopped := errors.AsType[*stoppedError](err)
	return stopped
}

// load gives a state to decide from. Unless fresh is set it may be old, which
// is good enough for a decision that ends in a commit: the fence guards it.
func (o *Orchestrator) load(ctx context.Context, k events.Key) (e entry, fresh bool, err error) {
	if why, stopped := o.cache.why(k); stopped {
		return entry{}, false, &stoppedError{why: why}
	}
	if e, ok := o.cache.get(k); ok {
		return e, false, nil
	}
	e, err = o.fresh(ctx, k)
	return e, true, err
}

// fresh gives the state as the leader of the log has it, read after the call.
func (o *Orchestrator) fresh(ctx context.Context, k events.Key) (entry, error) {
	if why, stopped := o.cache.why(k); stopped {
		return entry{}, &stoppedError{why: why}
	}
	known, ok := o.cache.get(k)
	from := "cache"
	if !ok {
		// Before the log is asked: a snapshot of a later commit than the log
		// has then means that the log has lost some.
		known, from = o.snapshot(ctx, k)
	}
	e, err := o.advance(ctx, k, known, from)
	if err != nil {
		return entry{}, err
	}
	o.cache.put(k, e)
	return e, nil
}

// advance folds what the log has beyond known.
func (o *Orchestrator) advance(ctx context.Context, k events.Key, known entry, from string) (entry, error) {
	last, err := o.last(ctx, k)
	switch {
	case errors.Is(err, protocol.ErrNotFound):
		if known.sequence > 0 {
			return entry{}, o.stopChat(ctx, k, fmt.Sprintf("its log is empty, and had %d commits", known.state.Rev()))
		}
		return entry{}, nil
	case errors.Is(err, protocol.ErrDamaged):
		return entry{}, o.stopChat(ctx, k, err.Error())
	case err != nil:
		return entry{}, fmt.Errorf("last commit: %w", err)
	case last.Sequence < known.sequence:
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("its last commit has sequence %d, and was at %d before", last.Sequence, known.sequence))
	case last.Sequence == known.sequence:
		if events.Hash(last.Body) == known.state.Prev() {
			return known, nil
		}
		if from != fromSnapshot {
			return entry{}, o.stopChat(ctx, k, fmt.Sprintf("commit %d is not the one that was stored", known.state.Rev()))
		}
		known = entry{} // a snapshot that does not fit the log counts for nothing
	}
	if last.Sequence != known.sequence && events.Erased(last.Body) {
		return o.tombstone(ctx, k, last)
	}
	o.metrics.loads.add(ctx, from)

	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	if from == fromSnapshot && known.sequence > 0 {
		e, fits, err := o.readBehindSnapshot(ctx, k, known, last.Sequence)
		if fits || err != nil {
			return e, err
		}
		known = entry{}
	}
	return o.read(ctx, k, known, last.Sequence)
}

// last reads the chat's newest commit from the leader.
func (o *Orchestrator) last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	return o.bus.Log.Last(ctx, k)
}

// read folds the commits up to the sequence onto e.
func (o *Orchestrator) read(ctx context.Context, k events.Key, e entry, through uint64) (entry, error) {
	for m, err := range o.bus.Log.Read(ctx, k, e.sequence, through) {
		if err != nil {
			return entry{}, fmt.Errorf("read the log: %w", err)
		}
		if e, err = o.fold(ctx, k, e, m); err != nil {
			return entry{}, err
		}
	}
	return o.whole(e, through)
}

// readBehindSnapshot is read from a snapshot on. It fits if the log has, where it
// says, the very commit it was made after.
func (o *Orchestrator) readBehindSnapshot(ctx context.Context, k events.Key, e entry, through uint64) (_ entry, fits bool, err error) {
	for m, err := range o.bus.Log.Read(ctx, k, e.sequence-1, through) {
		if err != nil {
			return entry{}, fits, fmt.Errorf("read the log: %w", err)
		}
		if !fits {
			if m.Sequence != e.sequence || events.Hash(m.Body) != e.state.Prev() {
				return entry{}, false, nil
			}
			fits = true
			continue
		}
		if e, err = o.fold(ctx, k, e, m); err != nil {
			return entry{}, true, err
		}
	}
	if !fits {
		return entry{}, false, nil
	}
	e, err = o.whole(e, through)
	return e, true, err
}

// whole checks that a read came to where it had to.
func (o *Orchestrator) whole(e entry, through uint64) (entry, error) {
	if e.sequence != through {
		return entry{}, fmt.Errorf("read the log: it ended at %d, not at %d", e.sequence, through)
	}
	return e, nil
}

// fold applies one stored commit, after checking that it is the next of its
// chain and that this release knows all that is in it.
func (o *Orchestrator) fold(ctx context.Context, k events.Key, e entry, m protocol.Stored) (entry, error) {
	c, err := events.Decode(m.Body)
	if version := (*events.VersionError)(nil); errors.As(err, &version) {
		return entry{}, err
	}
	if err != nil {
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("the message after commit %d: %v", e.state.Rev(), err))
	}
	if inherited, ok := c.Events[0].(events.ChatInherited); ok && e.sequence == 0 {
		if e, err = o.inherited(ctx, k, inherited); err != nil {
			return entry{}, err
		}
	}
	rev := e.state.Rev() + 1
	_, erased := c.Events[0].(events.ChatErased)
	switch {
	case c.Key != k:
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("commit %d belongs to another chat", rev))
	case erased && e.sequence == 0: // what it goes on from is deleted, or will be
	case c.Rev != rev:
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("commit %d stands where %d should", c.Rev, rev))
	case c.Prev != e.state.Prev():
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("commit %d does not follow the one before it", rev))
	}
	if err := chat.CheckRules(c); err != nil {
		return entry{}, err
	}
	next := e.state.Apply(c, events.Hash(m.Body))
	if wrong := next.Wrong(); wrong != "" {
		return entry{}, o.stopChat(ctx, k, fmt.Sprintf("commit %d makes no sense: %s", rev, wrong))
	}
	return entry{state: next, sequence: m.Sequence, bytes: e.bytes + int64(len(m.Body))}, nil
}

// stopChat remembers that the chat is damaged.
func (o *Orchestrator) stopChat(ctx context.Context, k events.Key, why string) error {
	if _, already := o.cache.why(k); !already {
		o.metrics.stopped.Add(ctx, 1)
		o.log.Error("chat stopped: its log is damaged", "chat", k, "why", why)
	}
	o.cache.stop(k, why)
	return &stoppedError{why: why}
}
