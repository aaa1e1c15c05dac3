package orchestrator_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// soon is how long an interrupted turn may take to end.
const soon = 5 * time.Second

// busy is a model that has another chat work for it, and never answers there.
func busy(arguments string) model.Model {
	return &script{say: func(ctx context.Context, _ int, q model.Request, yield func(model.Delta, error) bool) {
		last := q.Messages[len(q.Messages)-1]
		if last.Role == model.RoleUser && last.Parts[0].Text == "delegate" {
			yield(model.Delta{Answer: calls("delegate", arguments)}, nil)
			return
		}
		hangs(ctx, yield)
	}}
}

// spawns lets a chat begin to wait for a child.
func (r *rig) spawns() (child events.Key) {
	r.Helper()
	r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Tools: &[]string{"delegate"}}})
	r.do(chatA, send("delegate"))
	r.eventually("a child is waited for", func() bool { return r.has(chatA, "child.spawned.v1") })
	return protocol.ChildKey(chatA, firstCall)
}

// interrupts has the first turn of a chat end and gives how long that took.
func (r *rig) interrupts(k events.Key) time.Duration {
	r.Helper()
	began := time.Now()
	r.do(k, protocol.Interrupt{V: protocol.Version, Turn: 1})
	r.eventually("the turn is interrupted", func() bool { return r.has(k, "turn.interrupted.v1") })
	return time.Since(began)
}

func (r *rig) works(child events.Key) func() bool {
	return func() bool { return r.has(child, "step.requested.v1") }
}

// Rule: S6.3.
func TestS6_3_AChildThatCannotBeBornHoldsUpNoInterrupt(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"interrupt", "erase"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				late := lateAgents{make(chan map[string]map[string]events.Settings, 1)}
				r.start(busy(`{"task":"do it","agent":"reviewer"}`), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = late })
				child := r.spawns()
				<-time.After(time.Minute) // in which its birth was given up many times
				if r.has(child, "chat.created.v3") {
					t.Error("a child is born whose agent nobody knows")
				}
				if name == "erase" {
					r.do(chatA, protocol.Erase{V: protocol.Version})
					<-time.After(soon)
					if !r.has(chatA, "chat.erased.v1") {
						t.Error("it is not erased")
					}
				} else if took := r.interrupts(chatA); took > soon {
					t.Errorf("the turn was interrupted after %s", took)
				}
				if !r.has(child, "turn.interrupted.v1") || r.works(child)() {
					t.Errorf("whoever is late to make the child may have it work:\n%s", r.types(child))
				}
			})
		})
	}
}

// Rule: S6.3.
func TestS6_3_AParentThatNamesAnAgentIsInterruptedByWhoKnowsNone(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		known, late := make(chan map[string]map[string]events.Settings, 1), make(chan map[string]map[string]events.Settings, 1)
		o := r.start(busy(`{}`), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = lateAgents{known} })
		known <- map[string]map[string]events.Settings{tenant: {"reviewer": {System: "You review."}}}
		r.do(chatA, protocol.Create{V: protocol.Version, Settings: events.Settings{Agent: "reviewer"}})
		r.do(chatA, send("hello"))
		r.eventually("its model is asked", r.works(chatA))
		o.process.Kill()
		<-o.ended
		r.start(busy(`{}`), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = lateAgents{late} })
		if took := r.interrupts(chatA); took > soon {
			t.Errorf("the turn was interrupted after %s", took)
		}
	})
}

// A child whose log only a newer release can read is told as soon as one runs; here
// that it cannot be is all that shows.
//
// Rule: S6.3.
func TestS6_3_AChildOfANewerReleaseHoldsUpNoInterrupt(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(busy(`{"task":"do it"}`), nil)
		child := r.spawns()
		r.eventually("the child works", r.works(child))
		r.handWritten(child, func(c *events.Commit) []byte {
			body, _ := events.Encode(*c)
			return []byte(strings.Replace(string(body), "chat.archived.v1", "chat.archived.v2", 1))
		})
		if took := r.interrupts(chatA); took > soon {
			t.Errorf("the turn was interrupted after %s", took)
		}
		<-time.After(time.Minute)
		if !r.stored(protocol.ChatWorkSubject(chatA, "stop-1-1-1")) {
			t.Error("the word that the child is to end is gone, and nobody could tell it")
		}
	})
}

// stored reports whether there is work under the subject.
func (r *rig) stored(subject string) bool {
	for _, m := range r.server.Work() {
		if m.Subject == subject {
			return true
		}
	}
	return false
}

// Who cannot be told in time is told later: a recall begins what waits in a child, and
// that needs its agent.
//
// Rule: S6.3.
func TestS6_3_AChildThatNobodyMayDecideAboutIsToldWhenSomebodyMay(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		known, late := make(chan map[string]map[string]events.Settings, 1), make(chan map[string]map[string]events.Settings, 1)
		agents := map[string]map[string]events.Settings{tenant: {"reviewer": {System: "You review."}}}
		m := busy(`{"task":"do it","agent":"reviewer"}`)
		o := r.start(m, func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = lateAgents{known} })
		known <- agents
		child := r.spawns()
		r.eventually("the child works", r.works(child))
		r.do(child, send("and then"))
		o.process.Kill()
		<-o.ended
		r.start(m, func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Agents = lateAgents{late} })
		if took := r.interrupts(chatA); took > soon {
			t.Errorf("the turn was interrupted after %s", took)
		}
		<-time.After(time.Minute)
		if r.has(child, "turn.interrupt_requested.v1") {
			t.Error("a turn could begin in the child that nobody knows the agent of")
		}
		late <- agents
		r.eventually("the child is told", func() bool { return r.has(child, "turn.interrupted.v1") })
		r.eventually("no word of it is left", func() bool { return !r.stored(protocol.ChatWorkSubject(chatA, "stop-1-1-1")) })
		if asked := eventsOf[events.TurnInterruptRequested](r, child); asked[0].Reason != events.ReasonParent {
			t.Errorf("it was stopped by %+v", asked)
		}
	})
}

// leaderless is a log whose chat of a name cannot be written for a while.
type leaderless struct {
	orchestrator.Log
	chat string
	is   *atomic.Bool
}

func (l leaderless) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	if a.Key.Chat == l.chat && l.is.Load() {
		return 0, errors.New("there is no leader")
	}
	return l.Log.Append(ctx, a)
}

// A deadline that comes while the log of the child is away settles the call, too.
//
// Rule: S11.
func TestS11_AChildWhoseLogIsAwayHoldsUpItsParentForAPatience(t *testing.T) {
	t.Parallel()

	for _, name := range []string{"interrupt", "deadline"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				log := leaderless{chat: protocol.ChildKey(chatA, firstCall).Chat, is: new(atomic.Bool)}
				r.start(busy(`{"task":"do it"}`), func(_ *orchestrator.Config, b *orchestrator.Bus) {
					log.Log = b.Log
					b.Log = log
				})
				child := r.spawns()
				r.eventually("the child works", r.works(child))
				log.is.Store(true)
				if name == "interrupt" {
					if took := r.interrupts(chatA); took > soon+orchestrator.DefaultCommandTime {
						t.Errorf("the turn was interrupted after %s", took)
					}
				} else {
					due := eventsOf[events.ChildSpawned](r, chatA)[0].Due.Time()
					<-time.After(time.Until(due))
					r.eventually("the call is settled", func() bool { return r.has(chatA, "tool.completed.v1") })
					if late := time.Since(due); late > orchestrator.DefaultCommandTime+time.Second {
						t.Errorf("its deadline came %s late", late)
					}
				}
				<-time.After(time.Minute)
				log.is.Store(false)
				r.eventually("the child is told", func() bool { return r.has(child, "turn.interrupted.v1") })
			})
		})
	}
}

// A word that means nothing is dropped, and told with its subject.
//
// Rule: S11.
func TestS11_AWordThatMeansNothingIsDropped(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		var said bytes.Buffer
		o := r.start(delegating("done"), func(c *orchestrator.Config, _ *orchestrator.Bus) {
			c.Log = slog.New(slog.NewTextHandler(&said, nil))
		})
		bogus := protocol.ChatWork{V: protocol.Version, Tenant: tenant, Chat: "a", What: "bogus", Call: firstCall}
		if _, err := r.server.Process("stranger").Orchestrator().Work.Put(r.Context(), bogus); err != nil {
			t.Fatal(err)
		}
		subject := protocol.ChatWorkSubject(chatA, "bogus-1-1-1")
		r.eventually("it is dropped", func() bool { return !r.stored(subject) })
		o.process.Kill()
		<-o.ended
		if n := o.counted("faults"); n != 1 || !strings.Contains(said.String(), subject) {
			t.Errorf("%d faults, and it says: %s", n, said.String())
		}
	})
}

// slowBirth is a log that takes its time over the first commit of a chat.
type slowBirth struct {
	orchestrator.Log
	chat string
	born chan struct{}
}

func (l slowBirth) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	if a.Key.Chat == l.chat && a.Fence == 0 {
		<-l.born
	}
	return l.Log.Append(context.WithoutCancel(ctx), a)
}

// Rule: S6.4.
func TestS6_4_AChildThatIsBornAfterItsParentWentOnIsToldAtOnce(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		log := slowBirth{chat: protocol.ChildKey(chatA, firstCall).Chat, born: make(chan struct{})}
		r.start(busy(`{"task":"do it"}`), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			log.Log = b.Log
			b.Log = log
		})
		child := r.spawns()
		r.interrupts(chatA)
		close(log.born)
		r.eventually("the child is told", func() bool { return r.has(child, "turn.interrupted.v1") })
	})
}
