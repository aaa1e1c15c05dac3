package system

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// endless is a model that goes on until it is told to stop, and notes when.
type endless struct {
	begun, stopped chan struct{}
	begin, stop    func()
}

func newEndless() *endless {
	e := &endless{begun: make(chan struct{}), stopped: make(chan struct{})}
	e.begin, e.stop = sync.OnceFunc(func() { close(e.begun) }), sync.OnceFunc(func() { close(e.stopped) })
	return e
}

// Stream implements [model.Model].
func (e *endless) Stream(ctx context.Context, _ model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		defer e.stop()
		for i := 0; ctx.Err() == nil; i++ {
			if !yield(model.Delta{Kind: model.DeltaText, Text: fmt.Sprintf("%d ", i)}, nil) {
				return
			}
			e.begin()
			select {
			case <-ctx.Done():
			case <-time.After(pace):
			}
		}
		yield(model.Delta{}, &model.Error{Class: events.ClassCancelled, Message: "cancelled"})
	}
}

// pace is how fast an endless model speaks.
const pace = 20 * time.Millisecond

// B25: a cancel is addressed to a turn. It is never lost before that turn has
// begun to run, and never reaches another.
//
// Rule: S6.1.
func TestB25AnInterruptReachesItsTurnAndNoOther(t *testing.T) {
	t.Parallel()
	s := running(t, options{})

	t.Run("racing the start of the step", func(t *testing.T) {
		t.Parallel()
		const races = 20
		for i := range races {
			t.Run(fmt.Sprint(i), func(t *testing.T) {
				t.Parallel()
				e := newEndless()
				c := s.chat(t, e)
				_, sent := c.raw("send", nil, []byte(`{"v":1,"parts":[{"type":"text","text":"go"}]}`))
				if i%2 == 1 { // else at once
					c.until("the step was requested", func(h history) bool { return len(all[events.StepRequested](h)) > 0 })
				}
				_, interrupted := c.raw("interrupt", nil, []byte(`{"v":1,"turn":1}`))
				if r := sent(); !r.OK || r.Turn != 1 {
					t.Errorf("sent: %+v", r)
				}
				if r := interrupted(); !r.OK || r.Turn != 1 {
					t.Errorf("interrupted: %+v", r)
				}
				h := c.ended(1)
				if n := len(all[events.TurnInterrupted](h)); n != 1 || len(all[events.StepCompleted](h)) != 0 {
					t.Errorf("the turn was interrupted %d times; the log is\n%s", n, h)
				}
				c.endedByItsWorker(h)
				if len(c.model.asked()) > 0 {
					<-e.stopped // nobody goes on paying for it
				}
				c.stillWorks()
			})
		}
	})

	t.Run("delivered again when the next turn runs", func(t *testing.T) {
		t.Parallel()
		c := s.chat(t, newEndless())
		c.do(send("one"))
		id := client.NewID()
		body := []byte(`{"v":1,"turn":1}`)
		_, outcome := c.raw("interrupt", nats.Header{protocol.HeaderID: {id}}, body)
		first := outcome()
		c.endedByItsWorker(c.ended(1))
		second := c.do(send("two")).Turn
		if second != 2 {
			t.Fatalf("turn %d runs", second)
		}
		// The same command once more, and another one for the same turn.
		_, outcome = c.raw("interrupt", nats.Header{protocol.HeaderID: {id}}, body)
		if again := outcome(); again != first {
			t.Errorf("the outcome was %+v, and is %+v", first, again)
		}
		if r := c.refused(interrupt(1)); r.Code != events.CodeAlreadyFinished {
			t.Errorf("reply %+v", r)
		}
		c.stillRuns(2)
		c.do(interrupt(2))
		c.ended(2)
		c.stillWorks()
	})

	t.Run("two at once", func(t *testing.T) {
		t.Parallel()
		c := s.chat(t, newEndless())
		c.do(send("go"))
		var both sync.WaitGroup
		for range 2 {
			both.Go(func() {
				_, err := c.c.Command(patient(t), c.key.Chat, interrupt(1))
				if no, late := errors.AsType[*client.RejectedError](err); err != nil && (!late || no.Code != events.CodeAlreadyFinished) {
					t.Error(err) // the turn may have ended in between
				}
			})
		}
		both.Wait()
		h := c.ended(1)
		asked, noted, ended := len(all[events.TurnInterruptRequested](h)), len(all[events.CommandNoted](h)), len(all[events.TurnInterrupted](h))
		rejected := len(all[events.CommandRejected](h))
		if asked != 1 || noted+rejected != 1 || ended != 1 {
			t.Errorf("requested %d times, noted %d, rejected %d, ended %d; the log is\n%s", asked, noted, rejected, ended, h)
		}
		c.endedByItsWorker(h)
		c.stillWorks()
	})

	t.Run("for a turn that never was", func(t *testing.T) {
		t.Parallel()
		c := s.chat(t, newEndless())
		c.do(send("go"))
		for _, turn := range []int{2, 1 << 30, -1} {
			if r := c.refused(interrupt(turn)); r.Code != events.CodeUnknownTurn {
				t.Errorf("turn %d: reply %+v", turn, r)
			}
		}
		c.stillRuns(1)
		c.do(interrupt(1))
		c.ended(1)
		if r := c.refused(interrupt(0)); r.Code != events.CodeNotRunning {
			t.Errorf("nothing runs: reply %+v", r)
		}
		c.stillWorks()
	})
}

// endedByItsWorker fails unless the newest turn was ended by who asked the model,
// who then knew at once, and not by the timer for workers that are gone.
func (c *chat) endedByItsWorker(h history) {
	c.Helper()
	if cause := h.commits[len(h.commits)-1].Cause; cause.Kind != events.CausedByAttempt {
		c.Errorf("the turn was ended by %s %s; the log is\n%s", cause.Kind, cause.ID, h)
	}
}

// stillRuns fails if the turn has ended or is to.
func (c *chat) stillRuns(turn int) {
	c.Helper()
	h := c.read()
	if len(all[events.TurnInterrupted](h)) != turn-1 || len(all[events.TurnInterruptRequested](h)) != turn-1 {
		c.Errorf("turn %d is touched; the log is\n%s", turn, h)
	}
}

// B25 again, where the redelivery is the queue's: the acknowledgement of the
// interrupt is lost, and the command comes again when turn 2 runs.
//
// Rule: S6.1.
func TestB25ARedeliveredInterruptHasNoSecondEffect(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{ackWait: shortAckWait})
	unacknowledged := &unacknowledged{}
	s.startOrchestrator(func(_ *orchestrator.Config, bus *orchestrator.Bus) {
		unacknowledged.Commands = bus.Commands
		bus.Commands = unacknowledged
	})
	s.startProjections()
	s.startRunner(nil)
	t.Cleanup(s.nothingIsLeft)
	c := s.chat(t, newEndless())
	c.do(send("one"))
	c.do(interrupt(1))
	c.ended(1)
	c.do(send("two"))
	eventually(t, "the interrupt was delivered again", func() bool { return unacknowledged.redelivered.Load() })
	eventually(t, "the interrupt is settled", func() bool { return c.waiting() == 0 })
	c.stillRuns(2)
	c.do(interrupt(2))
	c.ended(2)
	c.stillWorks()
}

// shortAckWait lets what was lost come again soon.
const shortAckWait = 2 * time.Second

// unacknowledged are commands whose queue does not hear that the first interrupt
// was settled.
type unacknowledged struct {
	orchestrator.Commands

	lost        atomic.Bool
	redelivered atomic.Bool
}

// Fetch implements [orchestrator.Commands].
func (u *unacknowledged) Fetch(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	deliveries, err := u.Commands.Fetch(ctx, limit)
	for i, d := range deliveries {
		if _, verb, _ := protocol.ParseCommandSubject(d.Subject()); verb != string(protocol.VerbInterrupt) {
			continue
		}
		if d.Count() > 1 {
			u.redelivered.Store(true)
		} else if !u.lost.Swap(true) {
			deliveries[i] = unsettled{d}
		}
	}
	return deliveries, err
}

// unsettled is a delivery that can be settled in vain only.
type unsettled struct{ protocol.Delivery }

// Ack implements [protocol.Delivery].
func (unsettled) Ack(context.Context) error { return nil }

// B58: the stop message is lost. Whoever works looks for himself whether he is
// still wanted.
//
// Rule: S4.11.
func TestB58WorkEndsWithoutTheStopMessage(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startOrchestrator(func(_ *orchestrator.Config, bus *orchestrator.Bus) { bus.Signals = mute{bus.Signals} })
	s.startProjections()
	s.startRunner(nil)
	t.Cleanup(s.nothingIsLeft)
	for _, tt := range []struct {
		name string
		work func(t *testing.T) (c *chat, begun func() bool, ended <-chan struct{})
	}{
		{"a model that speaks", func(t *testing.T) (*chat, func() bool, <-chan struct{}) {
			e := newEndless()
			return s.chat(t, e), func() bool { return isClosed(e.begun) }, e.stopped
		}},
		{"a tool that runs", func(t *testing.T) (*chat, func() bool, <-chan struct{}) {
			c := s.chat(t, scripted(t, toolThenText("      - call: {name: hold}")))
			return c, func() bool { return len(s.tools.of(c.key)) > 0 }, s.tools.letGo(c.key)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, begun, ended := tt.work(t)
			c.do(send("go"))
			eventually(t, "it has begun", begun)
			told := time.Now()
			c.do(interrupt(1))
			select {
			case <-ended:
			case <-patient(t).Done():
				t.Fatal("it never ended")
			}
			if took := time.Since(told); took > endsWithin {
				t.Errorf("it ended after %v, want %v at most", took, endsWithin)
			}
			h := c.ended(1)
			if took := time.Since(told); took > endsWithin {
				t.Errorf("the turn ended after %v, want %v at most", took, endsWithin)
			}
			if n := len(all[events.TurnInterrupted](h)); n != 1 {
				t.Errorf("the log is\n%s", h)
			}
			c.stillWorks()
		})
	}
}

// endsWithin is the promise for work that nobody wants any more.
const endsWithin = 6 * time.Second

// mute are signals whose stop messages are lost.
type mute struct{ orchestrator.Signals }

// Stop implements [orchestrator.Signals].
func (mute) Stop(context.Context, events.Key, protocol.Stop) error { return nil }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}
