package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// takeTimer puts a due timer into its chat's mailbox.
func (o *Orchestrator) takeTimer(ctx context.Context, d protocol.Delivery, done func()) {
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
	o.boxes.post(k, task{
		run: func() error {
			if o.isStopping() {
				return errStopping
			}
			return o.fireTimer(ctx, d, t, o.commandPatience(taken))
		},
		done: func(err error) {
			o.endDelivery(ctx, d, "timer", k, err)
			done()
		},
	})
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
