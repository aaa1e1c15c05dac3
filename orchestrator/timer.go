package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/workers"
	"github.com/everturn/everturn/protocol"
)

// takeTimer puts a due timer into its chat's mailbox, after the children have been
// told that it leaves alone: what one mailbox has in hand never waits for another.
func (o *Orchestrator) takeTimer(ctx context.Context, d protocol.Delivery, busy *workers.Group, done func()) {
	taken := time.Now()
	t, err := protocol.Read[protocol.Timer](d.Body())
	k := t.Key()
	if err = errors.Join(err, k.Validate()); err != nil {
		// What the chat owes stands in its log, and whoever sweeps it sets it again.
		o.boxes.post(k, task{run: func() error { o.fault(ctx, "timer", k, err); return nil }, done: func(error) {
			o.endDelivery(ctx, d, "timer", k, nil)
			done()
		}})
		return
	}
	p := o.commandPatience(taken)
	fire := func() {
		o.boxes.post(k, task{
			run: func() error {
				if o.isStopping() {
					return errStopping
				}
				return o.fireTimer(ctx, d, t, p)
			},
			done: func(err error) {
				o.endDelivery(ctx, d, "timer", k, err)
				done()
			},
		})
	}
	name, err := protocol.ParseTimerName(t.Name)
	if err != nil || o.leavesNone(t, name) {
		fire()
		return
	}
	busy.Go(func() {
		if err := caught(func() error { return o.stopChildren(ctx, d, t, name, p) }); err != nil {
			o.endDelivery(ctx, d, "timer", k, err)
			done()
			return
		}
		fire()
	})
}

// leavesNone reports whether it is known, without asking anybody, that the timer leaves
// no child alone. Of most it is: they take no goroutine, and their turns as they came.
func (o *Orchestrator) leavesNone(t protocol.Timer, name protocol.TimerName) bool {
	if name.Kind != protocol.TimerEnd && name.Kind != protocol.TimerDeadline {
		return true
	}
	e, ok := o.cache.get(t.Key())
	return ok && e.state.Rev() >= t.Rev && len(e.state.Abandoned(name)) == 0
}

// fireTimer does what the timer was set for. That it came means that it is due.
func (o *Orchestrator) fireTimer(ctx context.Context, d protocol.Delivery, t protocol.Timer, p patience) error {
	name, err := protocol.ParseTimerName(t.Name)
	if err != nil { // this release sets no such timer
		return &events.VersionError{What: "timer", Name: t.Name}
	}
	due := chat.TimerDue{Name: name}
	if name.Kind == protocol.TimerEnd {
		e, err := o.fresh(ctx, t.Key())
		if err != nil {
			return err
		}
		if step, attempt, open := e.state.OpenAttempt(); open {
			due.Partial = o.lastWords(ctx, t, step, attempt)
		}
	}
	if name.Kind == protocol.TimerDelete {
		if err := o.deleteContent(ctx, d, t.Key()); err != nil {
			return err
		}
	}
	_, err = o.settle(ctx, t.Key(), due, "", p)
	return err
}
