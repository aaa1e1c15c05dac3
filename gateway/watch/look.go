package watch

import (
	"context"
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

// look gives what comes next, or what is to be done before that is known, or
// neither: then it is to look again.
func (w *Watcher) look(now time.Time) (Event, func(context.Context) error, error) {
	c := w.chat
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case w.lagged:
		return Event{}, nil, ErrLagged
	case w.era != c.era:
		return Event{}, func(context.Context) error {
			w.restart(WhyReplaced, "the chat's log was replaced by another one")
			return nil
		}, nil
	case len(w.log) > 0:
		e, taken, do := w.take(w.first)
		if taken {
			w.log[0], w.first = nil, nil // it may be large
			w.log = w.log[1:]
		}
		return e, do, nil
	case c.gone != nil:
		return Event{}, nil, c.gone
	case w.at == nil && w.rev < c.rev:
		return Event{}, w.readLog, nil
	case w.at == nil:
		w.at = c.last // what comes from now on is in the list, and all before was given
	}
	if e, do, some := w.fromList(); some {
		return e, do, nil
	}
	if w.rev < c.rev { // somebody found out; the feed has not said so
		w.at = nil
		return Event{}, nil, nil
	}
	if e, some := w.delta(); some {
		return e, nil, nil
	}
	return Event{}, w.idle(now), nil
}

// fromList takes the next thing of the list, if there is one.
func (w *Watcher) fromList() (e Event, do func(context.Context) error, some bool) {
	next := w.at.next
	switch {
	case next == nil:
		return Event{}, nil, false
	case next.event != nil:
		w.at = next
		return *next.event, nil, true
	case next.commit.rev <= w.rev:
		w.at = next // it was read from the log
		return Event{}, nil, true
	case next.commit.rev > w.rev+1:
		w.at = nil // some are missing before it
		return Event{}, nil, true
	}
	e, taken, do := w.take(next.commit)
	if taken {
		w.at = next
	}
	return e, do, true
}

// take gives a commit, the next one; or first what is left of an answer that it
// closes: then it is not taken yet.
func (w *Watcher) take(said *commit) (e Event, taken bool, do func(context.Context) error) {
	if said.rev <= w.rev {
		return Event{}, true, nil
	}
	if w.hash != "" && said.prev != w.hash {
		return Event{}, false, func(context.Context) error {
			w.restart(WhyReplaced, "the chat's log was replaced by another one")
			return nil
		}
	}
	for _, closed := range said.closes {
		for _, s := range w.showing {
			if s.opened != closed {
				continue
			}
			if s.attempt == nil {
				s.attempt = w.chat.find(s.step, s.n)
			}
			if e, some := s.give(); some {
				return e, false, nil
			}
		}
	}
	w.rev, w.hash, w.erased = said.rev, said.hash, said.erased
	w.chat.turn(said)
	for _, closed := range said.closes {
		w.showing = slices.DeleteFunc(w.showing, func(s *showing) bool { return s.opened == closed })
	}
	for _, o := range said.opens {
		w.show(o)
	}
	return said.event, true, nil
}

// show begins to give an attempt's deltas. A later attempt replaces an earlier one.
func (w *Watcher) show(o opened) {
	for _, s := range w.showing {
		if s.step == o.step && s.n >= o.n {
			return
		}
	}
	w.showing = slices.DeleteFunc(w.showing, func(s *showing) bool { return s.step == o.step })
	w.showing = append(w.showing, &showing{opened: o, attempt: w.chat.find(o.step, o.n)})
}

// standsAt shows the attempt that is open as a chat stands.
func (w *Watcher) standsAt(head transcript.Head) {
	var step events.StepID
	if head.Step == "" || head.RetryAt != 0 || step.UnmarshalText([]byte(head.Step)) != nil {
		return
	}
	w.show(opened{step, head.Attempt})
}

// delta gives the next one of an open attempt, if there is one.
func (w *Watcher) delta() (Event, bool) {
	for _, s := range w.showing {
		if s.attempt == nil {
			s.attempt = w.chat.attempt(s.step, s.n, true)
		}
		if e, some := s.give(); some {
			return e, true
		}
	}
	return Event{}, false
}

// give gives the next delta, if it is there. Of an attempt whose beginning was let
// go of there is no more.
func (s *showing) give() (Event, bool) {
	a := s.attempt
	if a == nil || s.next < a.base || s.next >= a.next() {
		return Event{}, false
	}
	e := a.deltas[s.next-a.base]
	s.next++
	return e, true
}

// idle is what to do when there is nothing to give: to find out what was missed, or
// to wait.
func (w *Watcher) idle(now time.Time) func(context.Context) error {
	var soonest time.Time
	sooner := func(at time.Time) {
		if !at.IsZero() && (soonest.IsZero() || at.Before(soonest)) {
			soonest = at
		}
	}
	for _, s := range w.showing {
		may, at := s.attempt.mayRead(now)
		if may {
			s.attempt.reading = true
			return func(ctx context.Context) error { return w.readDeltas(ctx, s.attempt) }
		}
		sooner(at)
	}
	may, at := w.chat.mayAsk(w.hub.cfg.Silence, now)
	if may {
		w.chat.asking = true
		known := w.chat.rev
		return func(ctx context.Context) error { return w.askAfter(ctx, known) }
	}
	sooner(at)
	changed := w.chat.changed
	return func(ctx context.Context) error {
		w.wait(ctx, changed, soonest, now)
		return nil
	}
}

// wait waits until something has changed or a time has come; a zero time never does.
func (w *Watcher) wait(ctx context.Context, changed <-chan struct{}, at, now time.Time) {
	var due <-chan time.Time
	if !at.IsZero() {
		timer := time.NewTimer(at.Sub(now))
		defer timer.Stop()
		due = timer.C
	}
	select {
	case <-changed:
	case <-due:
	case <-ctx.Done():
	case <-w.closed:
	case <-w.hub.stopped:
	}
}
