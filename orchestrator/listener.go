package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

const (
	// lookEvery is how often a worker asks whether its attempt is still open, so
	// that it ends within 6 s although the stop message was lost.
	lookEvery = 4 * time.Second

	// letGoTime is how long a model that was told to stop is waited for.
	letGoTime = 10 * time.Second

	// Deltas are sent on when they are this old or this long.
	feedDelay    = 30 * time.Millisecond
	maxFeedBytes = 4 << 10
)

// errUnwanted means that the attempt was closed by somebody else.
var errUnwanted = errors.New("the attempt is not open any more")

// listener hears one model out. Everything but poke belongs to the goroutine
// that calls listen.
type listener struct {
	o    *Orchestrator
	key  events.Key
	work protocol.ModelWork
	poke chan struct{} // somebody says that the attempt may be unwanted

	pieces  chan piece // closed when the model has let go
	started time.Time
	heard   time.Time // when anything came last
	content time.Time // when content came last
	looked  time.Time // when the chat was asked last
	feed    feed
	partial partial
	timing  events.Timing

	// What it came to; one of them.
	answer      *model.Answer
	failed      *model.Error
	interrupted bool
}

// piece is one thing a stream yields.
type piece struct {
	delta model.Delta
	err   error
}

// listen asks the model and listens until it is done, silent for too long, or
// not wanted. The model is told to stop when it returns; letGo waits for that.
func (l *listener) listen(ctx context.Context, m model.Model, r model.Request) error {
	asking, stopAsking := context.WithCancel(ctx)
	defer stopAsking()
	l.pieces = make(chan piece)
	go stream(asking, m, r, l.pieces)

	l.started = time.Now()
	l.heard, l.content, l.looked = l.started, l.started, l.started
	l.feed = feed{o: l.o, key: l.key, work: l.work}
	defer l.feed.flush(ctx)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		// One thing at a time, and in an order that does not depend on which of
		// several is seen first: the clock's, then what came.
		timer.Reset(time.Until(l.next()))
		var came *piece
		poked := false
		select {
		case p, ok := <-l.pieces:
			if !ok {
				p.err = &model.Error{Class: events.ClassIncomplete, Message: "the model broke off"}
			}
			came = &p
		case <-l.poke:
			poked = true
		case <-timer.C:
		case <-l.o.stopping:
			if came = arrived(l.pieces); came == nil {
				return errStopping
			}
		case <-ctx.Done():
			return errStopping
		}
		if came != nil && came.last() {
			l.take(ctx, *came)
			return nil
		}
		if done, err := l.tick(ctx, poked); done || err != nil {
			return err
		}
		if came != nil {
			l.take(ctx, *came)
		}
	}
}

// letGo waits until the model has let go, if it was asked. One that was told to
// stop and does not is left behind, with the goroutine that asks it: nobody can
// end that by force, and a slot, or the end of the process, must not wait for it
// for ever. Begun work is waited for no longer than ctx.
func (l *listener) letGo(ctx context.Context) {
	if l.pieces == nil {
		return
	}
	timer := time.NewTimer(letGoTime)
	defer timer.Stop()
	for {
		select {
		case _, more := <-l.pieces:
			if !more {
				return
			}
			continue
		case <-timer.C:
		case <-ctx.Done():
		}
		l.o.log.Error("a model that was told to stop goes on: it is left behind", "chat", l.key, "step", l.work.Step, "attempt", l.work.Attempt)
		return
	}
}

// last reports whether nothing can follow the piece.
func (p piece) last() bool { return p.err != nil || p.delta.Answer != nil }

// arrived is the last piece if it is there already: what was paid for is not
// thrown away because the orchestrator stops in the same moment.
func arrived(pieces <-chan piece) *piece {
	select {
	case p, ok := <-pieces:
		if ok && p.last() {
			return &p
		}
	default:
	}
	return nil
}

// stream sends what the model yields until it has ended or ctx has.
func stream(ctx context.Context, m model.Model, r model.Request, pieces chan<- piece) {
	defer close(pieces)
	send := func(p piece) bool {
		select {
		case pieces <- p:
			return true
		case <-ctx.Done():
			return false
		}
	}
	err := caught(func() error {
		for delta, err := range m.Stream(ctx, r) {
			if p := (piece{delta: delta, err: err}); !send(p) || p.last() {
				return nil
			}
		}
		return nil
	})
	if err != nil {
		send(piece{err: &model.Error{Class: events.ClassInternal, Message: "asking the model failed inside the worker", Err: err}})
	}
}

// next is when the clock wants something next.
func (l *listener) next() time.Time {
	at := l.looked.Add(lookEvery)
	for _, due := range []time.Time{l.heard.Add(l.o.cfg.Silence), l.content.Add(l.o.cfg.ContentSilence), l.feed.due()} {
		if !due.IsZero() && due.Before(at) {
			at = due
		}
	}
	return at
}

// tick does what the clock wants. It reports whether that ends the listening.
func (l *listener) tick(ctx context.Context, poked bool) (done bool, err error) {
	now := time.Now()
	if due := l.feed.due(); !due.IsZero() && !now.Before(due) {
		l.feed.flush(ctx)
	}
	if poked || now.Sub(l.looked) >= lookEvery {
		if done, err := l.look(ctx); done || err != nil {
			return done, err
		}
	}
	switch {
	case now.Sub(l.heard) >= l.o.cfg.Silence:
		l.failed = silence("nothing", l.o.cfg.Silence)
	case now.Sub(l.content) >= l.o.cfg.ContentSilence:
		l.failed = silence("no content", l.o.cfg.ContentSilence)
	}
	return l.failed != nil, nil
}

func silence(what string, d time.Duration) *model.Error {
	return &model.Error{Class: events.ClassStreamSilence, Message: fmt.Sprintf("the model sent %s for %v", what, d)}
}

// look asks the leader whether the attempt is still wanted. Not being able to
// ask is no reason to break off.
func (l *listener) look(ctx context.Context) (done bool, err error) {
	e, err := l.o.fresh(ctx, l.key)
	l.looked = time.Now()
	switch {
	case err != nil && hopeless(err):
		return true, err
	case err != nil:
		l.o.log.Debug("cannot see whether an attempt is open", "chat", l.key, "error", err)
		return false, nil
	case !e.state.AttemptOpen(l.work.Step, l.work.Attempt):
		return true, errUnwanted
	}
	l.interrupted = e.state.InterruptingStep(l.work.Step)
	return l.interrupted, nil
}

// take does what one piece says.
func (l *listener) take(ctx context.Context, p piece) {
	switch {
	case p.err != nil:
		l.failed = modelError(p.err)
		if l.failed.Err != nil {
			l.o.log.Warn("attempt failed", "chat", l.key, "step", l.work.Step, "attempt", l.work.Attempt,
				"class", l.failed.Class, "cause", l.failed.Err)
		}
		return
	case p.delta.Answer != nil:
		l.answer = p.delta.Answer
		return
	}
	now := time.Now()
	l.heard = now
	if p.delta.Text == "" {
		return
	}
	if l.timing.Deltas == 0 {
		l.timing.FirstMS = now.Sub(l.started).Milliseconds()
	} else {
		l.timing.LongestGapMS = max(l.timing.LongestGapMS, now.Sub(l.content).Milliseconds())
	}
	l.content = now
	l.timing.LastMS = now.Sub(l.started).Milliseconds()
	l.timing.Deltas++
	if l.work.Purpose != events.PurposeAnswer {
		return // nobody reads along
	}
	l.partial.add(p.delta)
	l.feed.add(ctx, p.delta, now)
}

// modelError is err as the cause of a failed attempt. What an adapter did not
// classify is unknown, and its words are for the process log only.
func modelError(err error) *model.Error {
	if known, ok := errors.AsType[*model.Error](err); ok {
		return known
	}
	return &model.Error{Class: events.ClassUnknown, Message: "asking the model failed", Err: err}
}
