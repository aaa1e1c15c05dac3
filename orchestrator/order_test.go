package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
	"github.com/oklog/ulid/v2"
)

func TestHelpInsteadOfWait(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		// Another replica has the first three in hand and stands still.
		outcomes := make([]func() protocol.Reply, 5)
		for i, body := range []protocol.Body{create(), send("one"), nil, send("two"), send("three")} {
			if body == nil {
				outcomes[i] = r.raw(chatA, "send", "01ARZ3NDEKTSV4RRFFQ69G5FAV", []byte("{"))
				continue
			}
			_, outcomes[i] = r.command(chatA, body)
			if i == 3 {
				stuck := r.server.Process("stuck").Orchestrator()
				if _, err := stuck.Commands.Fetch(r.Context(), 4); err != nil {
					r.Fatal(err)
				}
			}
		}
		o := r.start(answers(says("fine")), nil)
		if reply := outcomes[4](); !reply.OK {
			r.Fatalf("the last command: %+v", reply)
		}
		var order []string
		for _, e := range eventsOf[events.InputAccepted](r, chatA) {
			order = append(order, e.Parts[0].Text)
		}
		if diff := cmp.Diff([]string{"one", "two", "three"}, order); diff != "" {
			r.Errorf("inputs (-want +got):\n%s", diff)
		}
		if n := o.counted("helped"); n != 3 {
			r.Errorf("%d commands were helped, want 3", n)
		}
		// What was helped is answered when it comes, from the record.
		for i, want := range []uint64{1, 2, 0, 3} {
			if got := outcomes[i](); got.Rev != want || got.OK != (want > 0) {
				r.Errorf("outcome %d is %+v, want rev %d", i, got, want)
			}
		}
		r.eventually("nothing is stored any more", func() bool {
			_, err := r.server.Process("x").Orchestrator().Commands.Oldest(r.Context(), 0)
			return errors.Is(err, protocol.ErrNotFound)
		})
	})
}

func TestRefusalsWithoutALog(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		large := []byte(`{"v":1,"parts":[{"type":"text","text":"` + strings.Repeat("x", protocol.MaxCommandBytes) + `"}]}`)
		for _, tt := range []struct {
			verb string
			body string
			want events.Code
		}{
			{"send", `{"v":1,"parts":[{"type":"text","text":"hi"}]}`, events.CodeUnknownChat},
			{"send", `{"v":1,"parts":[],"surprise":1}`, events.CodeBadCommand},
			{"send", `{`, events.CodeBadCommand},
			{"dance", `{"v":1}`, events.CodeUnknownVerb},
			{"send", string(large), events.CodeTooLarge},
		} {
			id := ulid.Make().String()
			reply := r.raw(chatA, tt.verb, id, []byte(tt.body))()
			if reply.OK || reply.Code != tt.want || reply.ID != id {
				r.Errorf("%s %.40s: %+v, want %s", tt.verb, tt.body, reply, tt.want)
			}
		}
		if log := r.server.Log(chatA); len(log) != 0 {
			r.Errorf("%d commits, want none", len(log))
		}
	})
}

// What is refused without a record was not decided: the chat that it was for knows
// nothing of it, and decides it when it comes again.
func TestARefusalWithoutALogIsNoDecision(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		id, early := r.command(chatA, send("hi"))
		if reply := early(); reply.Code != events.CodeUnknownChat {
			r.Fatalf("a chat that does not exist: %+v", reply)
		}
		r.do(chatA, create())
		body := []byte(`{"v":1,"parts":[{"type":"text","text":"hi"}]}`)
		first := r.raw(chatA, "send", id, body)()
		if !first.OK || first.Input != id {
			r.Errorf("sent again: %+v", first)
		}
		if diff := cmp.Diff(first, r.raw(chatA, "send", id, body)()); diff != "" {
			r.Errorf("once more (-first +second):\n%s", diff)
		}
	})
}

func TestCommandsBeforeTheCreate(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		_, early := r.command(chatA, send("too early"))
		stuck := r.server.Process("stuck").Orchestrator()
		if _, err := stuck.Commands.Fetch(r.Context(), 1); err != nil {
			r.Fatal(err)
		}
		r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		if reply := early(); reply.Code != events.CodeUnknownChat {
			r.Errorf("a command older than its chat: %+v", reply)
		}
	})
}

func TestACommandTwice(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		id, outcome := r.command(chatA, send("hi"))
		first := outcome()
		body := []byte(`{"v":1,"parts":[{"type":"text","text":"hi again"}]}`)
		if diff := cmp.Diff(first, r.raw(chatA, "send", id, body)()); diff != "" {
			r.Errorf("second outcome (-first +second):\n%s", diff)
		}
		if n := len(eventsOf[events.InputAccepted](r, chatA)); n != 1 {
			r.Errorf("%d inputs, want 1", n)
		}
	})
}

// What was decided long ago has no outcome that a chat remembers. It is not decided
// again all the same, by whichever replica, and it is in nobody's way.
func TestACommandTwiceLongAfter(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		first := r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		id, outcome := r.command(chatA, send("hi"))
		outcome()
		for range 300 {
			r.do(chatA, protocol.Rename{V: protocol.Version, Title: "title"})
		}
		again := func() {
			body := []byte(`{"v":1,"parts":[{"type":"text","text":"hi"}]}`)
			_ = r.raw(chatA, "send", id, body) // nobody answers: the record does
			r.do(chatA, protocol.Rename{V: protocol.Version, Title: "behind it"})
		}
		again()
		first.process.Kill()
		<-first.ended
		r.start(answers(says("fine")), nil) // it has the state from a snapshot
		again()
		if n := len(eventsOf[events.InputAccepted](r, chatA)); n != 1 {
			r.Errorf("%d inputs, want 1", n)
		}
		r.eventually("nothing is stored any more", func() bool {
			_, err := r.server.Process("x").Orchestrator().Commands.Oldest(r.Context(), 0)
			return errors.Is(err, protocol.ErrNotFound)
		})
	})
}

func TestManyCommandsOnTwoReplicas(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		a := r.start(answers(says("fine")), nil)
		b := r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		const commands = 300
		var want []string
		var last func() protocol.Reply
		for range commands {
			var id string
			id, last = r.command(chatA, protocol.Rename{V: protocol.Version, Title: "title"})
			want = append(want, id)
		}
		last()
		var got []string
		for _, c := range r.log(chatA)[1:] {
			got = append(got, c.Cause.ID)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			r.Errorf("decisions (-want +got):\n%s", diff)
		}
		r.eventually("nothing is stored any more", func() bool {
			_, err := r.server.Process("x").Orchestrator().Commands.Oldest(r.Context(), 0)
			return errors.Is(err, protocol.ErrNotFound)
		})
		t.Logf("helped %d and %d, conflicts %d and %d", a.counted("helped"), b.counted("helped"), a.counted("conflicts"), b.counted("conflicts"))
	})
}

// appender puts a function before the log's append.
type appender struct {
	orchestrator.Log
	append func(ctx context.Context, a protocol.Append) (uint64, error)
}

func (l appender) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	return l.append(ctx, a)
}

func TestAppendsThatGoWrong(t *testing.T) {
	t.Parallel()

	lost := errors.New("no answer")
	for _, tt := range []struct {
		name    string
		append  func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error)
		counter string
		same    bool // all tries had the same bytes
	}{
		{
			name: "a commit whose answer was lost is found", counter: "commits.found", same: true,
			append: func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error) {
				return func(ctx context.Context, a protocol.Append) (uint64, error) {
					if seq, err := log.Append(ctx, a); n > 1 || err != nil {
						return seq, err
					}
					return 0, lost
				}
			},
		},
		{
			name: "a commit that was not stored is sent again with the same bytes", counter: "commits.resent", same: true,
			append: func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error) {
				if n < 4 {
					return func(context.Context, protocol.Append) (uint64, error) { return 0, lost }
				}
				return log.Append
			},
		},
		{
			name: "a conflict without a commit is another write in flight", counter: "commits.resent", same: true,
			append: func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error) {
				if n < 3 {
					return func(context.Context, protocol.Append) (uint64, error) { return 0, events.ErrConflict }
				}
				return log.Append
			},
		},
		{
			name: "after another's commit everything is decided anew", counter: "conflicts",
			append: func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error) {
				return func(ctx context.Context, a protocol.Append) (uint64, error) {
					if n == 1 {
						other := a
						c, err := events.Decode(a.Body)
						if err != nil {
							return 0, err
						}
						c.ID, c.Cause, c.Events = "other", events.Cause{Kind: events.CausedByCommand, ID: "other"}, []events.Event{events.ChatArchived{}}
						if other.Body, err = events.Encode(c); err != nil {
							return 0, err
						}
						if _, err := log.Append(ctx, other); err != nil {
							return 0, err
						}
					}
					return log.Append(ctx, a)
				}
			},
		},
		{
			name: "a full disk is waited for", counter: "commits.resent", same: true,
			append: func(log orchestrator.Log, n int) func(context.Context, protocol.Append) (uint64, error) {
				if n < 20 {
					return func(context.Context, protocol.Append) (uint64, error) { return 0, protocol.ErrStorageFull }
				}
				return log.Append
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				var (
					mu     sync.Mutex
					bodies []string
				)
				o := r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
					log := b.Log
					b.Log = appender{log, func(ctx context.Context, a protocol.Append) (uint64, error) {
						if a.Fence == 0 {
							return log.Append(ctx, a)
						}
						mu.Lock()
						bodies = append(bodies, string(a.Body))
						n := len(bodies)
						mu.Unlock()
						return tt.append(log, n)(ctx, a)
					}}
				})
				r.do(chatA, create())
				r.do(chatA, protocol.Rename{V: protocol.Version, Title: "a title"})
				if n := len(eventsOf[events.ChatTitled](r, chatA)); n != 1 {
					r.Errorf("titled %d times, want once:\n%s", n, r.types(chatA))
				}
				mu.Lock()
				defer mu.Unlock()
				for _, b := range bodies[1:] {
					if (b == bodies[0]) != tt.same {
						r.Errorf("a try has the bytes of the first: %t, want %t", b == bodies[0], tt.same)
					}
				}
				if n := o.counted(tt.counter); n == 0 {
					r.Errorf("%s is not counted", tt.counter)
				}
				if n := o.counted("faults"); n != 0 {
					r.Errorf("%d faults, want none", n)
				}
			})
		})
	}
}

func TestACommandIsGivenBackWhileTheLogIsAway(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		began := time.Now()
		o := r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			log := b.Log
			b.Log = appender{log, func(ctx context.Context, a protocol.Append) (uint64, error) {
				if time.Since(began) < 10*time.Minute {
					return 0, errors.New("no leader")
				}
				return log.Append(ctx, a)
			}}
		})
		r.do(chatA, create())
		if n := o.counted("given_back"); n < chatReturns {
			r.Errorf("given back %d times, want at least %d", n, chatReturns)
		}
		if n := o.counted("undeliverable"); n != 0 {
			r.Error("storage that is away was counted as a fault")
		}
	})
}

// chatReturns is how often a command goes back in ten minutes, at least: more
// often than it may fault.
const chatReturns = 12
