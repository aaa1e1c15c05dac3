package bustest

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Timers is the suite of [orchestrator.Timers].
func Timers(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a timer fires when it is due, not before, and says what it is for", func(b *bench) {
			due := time.Now().Add(timerPeriod)
			timer := b.set("end-1", due)
			d := b.one(b.Timers.FetchDue)
			if now := time.Now(); now.Before(timer.Due.Time()) {
				b.Errorf("it fired %v early", timer.Due.Time().Sub(now))
			}
			if want := protocol.TimerDueSubject(timer.Key(), "end-1"); d.Subject() != want {
				b.Errorf("subject %s, want %s", d.Subject(), want)
			}
			if got := b.timer(d); got != timer {
				b.Errorf("got %+v, want %+v", got, timer)
			}
			b.ack(d)
		}},
		{"one that is overdue fires at once", func(b *bench) {
			timer := b.set("end-1", time.Now().Add(-time.Hour))
			d := b.one(b.Timers.FetchDue)
			if got := b.timer(d); got != timer {
				b.Errorf("got %+v, want %+v", got, timer)
			}
			b.ack(d)
		}},
		{"one that is set again fires at its new time", func(b *bench) {
			b.set("end-1", time.Now().Add(time.Hour))
			sooner := b.set("end-1", time.Now().Add(timerPeriod))
			d := b.one(b.Timers.FetchDue)
			if got := b.timer(d); got != sooner {
				b.Errorf("got %+v, want %+v", got, sooner)
			}
			b.ack(d)
		}},
		{"names are timers of their own, in their order", func(b *bench) {
			now := time.Now()
			b.set("deadline-1-1-1", now.Add(2*timerPeriod))
			b.set("retry-1-1-1", now.Add(timerPeriod/2))
			b.set("deadline-1-1-2", now.Add(5*timerPeriod))
			var names []string
			for range 3 {
				d := b.one(b.Other.Timers.FetchDue)
				names = append(names, b.timer(d).Name)
				b.ack(d)
			}
			if fmt.Sprint(names) != "[retry-1-1-1 deadline-1-1-1 deadline-1-1-2]" {
				b.Errorf("fired in the order %v", names)
			}
		}},
		{"a name may be set again after it fired", func(b *bench) { // the repair of what is owed does
			for range 2 {
				timer := b.set("end-1", time.Now())
				d := b.one(b.Timers.FetchDue)
				if got := b.timer(d); got != timer {
					b.Errorf("got %+v, want %+v", got, timer)
				}
				b.ack(d)
			}
		}},
		{"one that is not settled comes again, to anybody", func(b *bench) {
			b.comesAgain(b.setSoon(), b.Timers.FetchDue, b.Other.Timers.FetchDue)
		}},
		{"in-progress keeps it", func(b *bench) { b.keeps(b.setSoon(), b.Timers.FetchDue, b.Other.Timers.FetchDue) }},
		{"later gives it back after the delay", func(b *bench) { b.givesBack(b.setSoon(), b.Timers.FetchDue, b.Other.Timers.FetchDue) }},
		{"a fetch gives up with its context", func(b *bench) {
			ctx, cancel := context.WithCancel(b.ctx)
			cancel()
			_, err := b.Timers.FetchDue(ctx, 1)
			b.want(err, context.Canceled)
		}},
	})
}

// set schedules a timer through the first bus.
func (b *bench) set(name string, due time.Time) protocol.Timer {
	b.Helper()
	k := b.key("a")
	timer := protocol.Timer{V: protocol.Version, Tenant: k.Tenant, Chat: k.Chat, Rev: 7, Name: name, Due: events.At(due)}
	b.must(b.Timers.Set(b.ctx, timer))
	return timer
}

func (b *bench) setSoon() func() {
	var n int
	return func() {
		b.Helper()
		n++
		b.set(fmt.Sprintf("end-%d", n), time.Now())
	}
}

func (b *bench) timer(d protocol.Delivery) protocol.Timer {
	b.Helper()
	var timer protocol.Timer
	b.must(json.Unmarshal(d.Body(), &timer))
	return timer
}
