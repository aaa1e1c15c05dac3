package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

func TestStartAndStop(t *testing.T) {
	t.Parallel()

	t.Run("stop before start", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			o := r.build(answers(says("fine")), nil)
			o.Stop()
			if err := o.Run(r.Context()); err != nil {
				r.Error(err)
			}
		})
	})
	t.Run("stop twice, and run once", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			o := r.start(answers(says("fine")), nil)
			r.do(chatA, create())
			o.Stop()
			o.Stop()
			<-o.ended
			if err := o.Run(r.Context()); err == nil {
				r.Error("a second Run is no error")
			}
		})
	})
	t.Run("a context that has ended", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			ctx, cancel := context.WithCancel(r.Context())
			cancel()
			if err := r.build(answers(says("fine")), nil).Run(ctx); err != nil {
				r.Error(err)
			}
		})
	})
	t.Run("while busy", func(t *testing.T) {
		t.Parallel()

		inBubble(t, func(r *rig) {
			for range 20 {
				o := r.start(answers(says("fine")), nil)
				k := events.Key{Tenant: tenant, Chat: "busy"}
				r.command(k, create())
				for range 10 {
					r.command(k, protocol.Rename{V: protocol.Version, Title: "busy"})
				}
				o.stopped()
			}
			r.start(answers(says("fine")), nil)
			r.eventually("every command was decided", func() bool {
				return len(eventsOf[events.ChatTitled](r, events.Key{Tenant: tenant, Chat: "busy"})) == 200
			})
		})
	})
}

// firstHangs says a word and hangs the first time it is asked, and answers
// after that.
func firstHangs() *script {
	final := answers(says("all of it"))
	return &script{say: func(ctx context.Context, n int, q model.Request, y func(model.Delta, error) bool) {
		if n > 1 {
			final.say(ctx, n, q, y)
			return
		}
		if y(model.Delta{Kind: model.DeltaText, Text: "half of"}, nil) {
			hangs(ctx, y)
		}
	}}
}

func TestAGracefulStopHandsItsWorkBackAtOnce(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		m := firstHangs()
		first := r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the model is being asked", func() bool { return len(m.requests()) == 1 })
		r.start(m, nil)
		began := time.Now()
		first.stopped()
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if took := time.Since(began); took > time.Second {
			r.Errorf("the turn went on after %v, want at once", took)
		}
		if failed := eventsOf[events.StepFailed](r, chatA); len(failed) != 1 || failed[0].Class != events.ClassCrashed {
			r.Errorf("failures: %+v", failed)
		}
	})
}

func TestAModelThatDoesNotLetGoIsLeftBehind(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		release := make(chan struct{})
		o := r.start(&script{say: func(_ context.Context, _ int, _ model.Request, y func(model.Delta, error) bool) {
			<-release // whatever its context says
		}}, nil)
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the attempt was given up as silent", func() bool { return r.has(chatA, "step.failed.v1") })
		began := time.Now()
		o.stopped()
		if took := time.Since(began); took > 20*time.Second {
			r.Errorf("it stopped after %v", took)
		}
		close(release)
	})
}

// Rule: S2.5.
func TestACrashedWorker(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		m := firstHangs()
		first := r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the model is being asked", func() bool { return len(m.requests()) == 1 })
		first.process.Kill()
		second := r.start(m, nil)
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		want := "chat.created\ninput.accepted turn.started step.requested\nstep.failed step.requested\nstep.completed turn.completed"
		if got := r.types(chatA); got != want {
			r.Errorf("log:\n%s\nwant:\n%s", got, want)
		}
		if second.counted("attempts.lost") != 1 || second.counted("redispatched") != 0 {
			r.Errorf("lost %d, dispatched again %d", second.counted("attempts.lost"), second.counted("redispatched"))
		}
	})
}

// deaf hands over no stop messages.
type deaf struct{ orchestrator.Signals }

func (deaf) Stops(ctx context.Context, _ func(events.Key, protocol.Stop)) error {
	<-ctx.Done()
	return ctx.Err()
}

// Rule: S6.2.
func TestInterrupt(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name    string
		edit    func(c *orchestrator.Config, b *orchestrator.Bus)
		disturb func(p *part)
		within  time.Duration
	}{
		{name: "the stop message ends the model's call at once", within: 100 * time.Millisecond},
		{
			name: "a worker that missed the message is overtaken by the end timer", within: 5 * time.Second,
			edit: func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Signals = deaf{b.Signals} },
		},
		{
			name: "a worker that is gone is overtaken by the end timer", within: 5 * time.Second,
			disturb: func(p *part) { p.process.Kill(); <-p.ended },
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				m := firstHangs()
				first := r.start(m, tt.edit)
				r.do(chatA, create())
				r.do(chatA, send("hi"))
				r.eventually("the feed has what was said", func() bool { return len(r.fed()) > 0 })
				if tt.disturb != nil {
					tt.disturb(first)
					r.start(m, nil)
				}
				r.do(chatA, protocol.Interrupt{V: protocol.Version, Turn: 1, Reason: "enough"})
				began := time.Now()
				r.eventually("the turn is interrupted", func() bool { return r.has(chatA, "turn.interrupted.v1") })
				if took := time.Since(began); took > tt.within {
					r.Errorf("it took %v, want at most %v", took, tt.within)
				}
				kept := eventsOf[events.StepInterrupted](r, chatA)
				if len(kept) != 1 || len(kept[0].Parts) != 1 || !strings.HasPrefix(kept[0].Parts[0].Text, "half of") {
					r.Errorf("kept %+v, want what was said", kept)
				}
				r.do(chatA, send("and now?"))
				r.eventually("the next turn ends", func() bool { return r.has(chatA, "turn.completed.v1") })
			})
		})
	}
}

// fed are the deltas of the first attempt that the feed has.
func (r *rig) fed() []protocol.Delta {
	r.Helper()
	list, err := r.server.Process("watcher").Orchestrator().Feed.Deltas(r.Context(), chatA, events.StepID{Turn: 1, Step: 1}, 1)
	if err != nil {
		r.Fatal(err)
	}
	return list
}

// Rule: S1.3.
func TestALateAnswerIsDroppedAndCounted(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		// The worker neither speaks up nor hears anything, and takes a minute.
		final := answers(says("fine"))
		slow := &script{say: func(ctx context.Context, n int, q model.Request, y func(model.Delta, error) bool) {
			if n == 1 {
				select {
				case <-time.After(time.Minute):
				case <-ctx.Done():
				}
			}
			final.say(ctx, n, q, y)
		}}
		first := r.start(slow, func(c *orchestrator.Config, b *orchestrator.Bus) {
			c.AckWait = 24 * time.Hour
			c.CommandTime = 10 * time.Second
			b.Log = &blind{Log: b.Log, from: time.Now().Add(time.Second), until: time.Now().Add(50 * time.Second)}
		})
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the model is being asked", func() bool { return len(slow.requests()) == 1 })
		r.start(slow, nil)
		r.eventually("the late answer is dropped", func() bool { return first.counted("late") > 0 })
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if n := len(eventsOf[events.StepCompleted](r, chatA)); n != 1 {
			r.Errorf("%d answers, want 1", n)
		}
	})
}

// blind is a log that cannot be read for a while.
type blind struct {
	orchestrator.Log
	from, until time.Time
}

func (l *blind) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	if now := time.Now(); now.After(l.from) && now.Before(l.until) {
		return protocol.Stored{}, context.DeadlineExceeded
	}
	return l.Log.Last(ctx, k)
}
