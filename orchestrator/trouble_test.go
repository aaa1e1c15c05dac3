package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// A chat remembers the outcomes of 256 commands. That one of them is forgotten
// does not make a command that is still stored a new one.
func TestWhatOthersDecidedLongAgoIsNotDecidedAgain(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name          string
		before, after int // commands in the stuck process, and behind them
	}{
		{"one is stuck and many follow", 1, 300},
		{"many are stuck and helped in one go", 600, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			inBubble(t, func(r *rig) {
				first := r.start(answers(says("fine")), nil)
				r.do(chatA, create())
				first.stopped()
				rename := protocol.Rename{V: protocol.Version, Title: "another"}
				for range tt.before {
					r.command(chatA, rename)
				}
				stuck, err := r.server.Process("stuck").Orchestrator().Commands.Fetch(r.Context(), tt.before)
				if err != nil || len(stuck) != tt.before {
					r.Fatalf("%d commands fetched, want %d (%v)", len(stuck), tt.before, err)
				}
				r.start(answers(says("fine")), nil)
				for range tt.after {
					r.do(chatA, rename)
					for _, d := range stuck {
						if err := d.InProgress(r.Context()); err != nil {
							r.Fatal(err)
						}
					}
				}
				for _, d := range stuck { // their holder wakes up
					if err := d.Later(r.Context(), 0); err != nil {
						r.Fatal(err)
					}
				}
				r.eventually("nothing is stored any more", func() bool {
					_, err := r.server.Process("x").Orchestrator().Commands.Oldest(r.Context(), 0)
					return errors.Is(err, protocol.ErrNotFound)
				})
				if n := len(eventsOf[events.ChatTitled](r, chatA)); n != tt.before+tt.after {
					r.Errorf("%d titles, want %d", n, tt.before+tt.after)
				}
			})
		})
	}
}

// garbled is work, or timers, whose next message cannot be read.
type garbled struct {
	orchestrator.Work
	orchestrator.Timers
	left *atomic.Int64
}

func (g garbled) FetchModel(ctx context.Context, pool string, limit int) ([]protocol.Delivery, error) {
	list, err := g.Work.FetchModel(ctx, pool, limit)
	return g.garble(list), err
}

func (g garbled) FetchDue(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	list, err := g.Timers.FetchDue(ctx, limit)
	return g.garble(list), err
}

func (g garbled) garble(list []protocol.Delivery) []protocol.Delivery {
	for i := range list {
		if g.left.Add(-1) >= 0 {
			list[i] = unreadable{list[i]}
		}
	}
	return list
}

type unreadable struct{ protocol.Delivery }

func (unreadable) Body() []byte { return []byte(`{"tenant":`) }

func TestMessagesThatCannotBeRead(t *testing.T) {
	t.Parallel()

	// The attempt's work, then the timer of its retry; each is sent again by the
	// sweep, for the log knows what is owed.
	for _, garbledOnes := range []int64{1, 2} {
		t.Run(fmt.Sprint(garbledOnes), func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				final := answers(says("fine"))
				m := &script{say: func(ctx context.Context, n int, q model.Request, y func(model.Delta, error) bool) {
					if n == 1 {
						y(model.Delta{}, &model.Error{Class: events.ClassOverloaded, Message: "busy"})
						return
					}
					final.say(ctx, n, q, y)
				}}
				var left atomic.Int64
				o := r.start(m, func(_ *orchestrator.Config, b *orchestrator.Bus) {
					g := garbled{b.Work, b.Timers, &left}
					b.Work, b.Timers = g, g
				})
				left.Store(garbledOnes)
				r.do(chatA, create())
				r.do(chatA, send("hi"))
				r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
				if n := o.counted("faults"); n != garbledOnes {
					r.Errorf("%d faults, want %d", n, garbledOnes)
				}
			})
		})
	}
}

// gone is a store that has lost its content, or cannot be read.
type gone struct {
	orchestrator.Blobs
	err error
}

func (g gone) Get(context.Context, events.Key, events.Digest) ([]byte, error) { return nil, g.err }

func TestContentThatIsGone(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		err  error
		want events.ErrorClass
	}{
		{"content that is missing fails the turn", protocol.ErrNotFound, events.ClassInvalidRequest},
		{"content that cannot be read is tried again", errors.New("damaged"), events.ClassInternal},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Blobs = gone{b.Blobs, tt.err} })
				r.do(chatA, create())
				r.do(chatA, send(strings.Repeat("long ", 20_000)))
				r.eventually("the attempt has failed", func() bool { return r.has(chatA, "step.failed.v1") })
				if got := eventsOf[events.StepFailed](r, chatA)[0]; got.Class != tt.want {
					r.Errorf("failed as %+v, want class %s", got, tt.want)
				}
			})
		})
	}
}

// Rule: S3.
func TestDeltasAreSentAFewAtATime(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		said := []struct {
			delta model.Delta
			pause time.Duration
		}{
			{model.Delta{Kind: model.DeltaReasoning, Text: "let me "}, 0},
			{model.Delta{Kind: model.DeltaReasoning, Text: "see"}, 0},
			{model.Delta{Kind: model.DeltaText, Part: 1, Text: "one "}, 10 * time.Millisecond},
			{model.Delta{Kind: model.DeltaText, Part: 1, Text: "two "}, time.Second},
			{model.Delta{Kind: model.DeltaText, Part: 1}, 0}, // a keep-alive
			{model.Delta{Kind: model.DeltaText, Part: 1, Text: strings.Repeat("x", 5_000)}, 0},
			{model.Delta{Kind: model.DeltaText, Part: 1, Text: "end"}, 0},
		}
		m := &script{say: func(_ context.Context, _ int, _ model.Request, y func(model.Delta, error) bool) {
			for _, s := range said {
				if !y(s.delta, nil) {
					return
				}
				<-time.After(s.pause)
			}
			y(model.Delta{Answer: says("…")}, nil)
		}}
		r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		var got []string
		for i, d := range r.fed() {
			if d.I != i {
				r.Errorf("delta %d is counted as %d", i, d.I)
			}
			got = append(got, d.Kind+" "+d.Text[:min(len(d.Text), 10)])
		}
		want := []string{"reasoning let me see", "text one two ", "text xxxxxxxxxx", "text end"}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("deltas (-want +got):\n%s", diff)
		}
		timing := eventsOf[events.StepCompleted](r, chatA)[0].Timing
		if want := (events.Timing{FirstMS: 0, LastMS: 1010, Deltas: 6, LongestGapMS: 1000}); timing != want {
			r.Errorf("timing is %+v, want %+v", timing, want)
		}
	})
}
