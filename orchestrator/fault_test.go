package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// poison is a text that something below the decision cannot stand.
const poison = "poison"

// poisoned makes appending a commit with the poison do harm.
func poisoned(harm func()) func(*orchestrator.Config, *orchestrator.Bus) {
	return func(_ *orchestrator.Config, b *orchestrator.Bus) {
		log := b.Log
		b.Log = appender{log, func(ctx context.Context, a protocol.Append) (uint64, error) {
			if strings.Contains(string(a.Body), poison) {
				harm()
				<-ctx.Done() // what ends its process comes no further
				return 0, ctx.Err()
			}
			return log.Append(ctx, a)
		}}
	}
}

func TestACommandThatPanicsIsSetAside(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		o := r.start(answers(says("fine")), poisoned(func() { panic("a bug") }))
		r.do(chatA, create())
		_, bad := r.command(chatA, send(poison))
		_, good := r.command(chatA, send("hi")) // behind it, delivered as often
		if reply := bad(); reply.Code != events.CodeUndeliverable {
			r.Errorf("the bad command: %+v", reply)
		}
		if reply := good(); !reply.OK {
			r.Errorf("the command behind it: %+v", reply)
		}
		if n := o.counted("faults"); n != 3 {
			r.Errorf("%d faults, want 3", n)
		}
		dead := r.server.Dead()
		if len(dead) != 1 || !strings.Contains(string(dead[0].Message.Body), poison) {
			r.Errorf("set aside: %+v", dead)
		}
	})
}

func TestACommandThatEndsItsProcessIsSetAside(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil).stopped()
		first := r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		first.stopped()
		_, bad := r.command(chatA, send(poison))
		_, good := r.command(chatA, send("hi"))
		const processes = 30
		for range processes {
			var p *part
			p = r.start(answers(says("fine")), poisoned(func() { p.process.Kill() }))
			r.eventually("the process has ended, or nothing is left to do", func() bool {
				return p.process.Killed() || len(eventsOf[events.InputAccepted](r, chatA)) == 1
			})
			if !p.process.Killed() {
				break
			}
			<-p.ended
		}
		if reply := bad(); reply.Code != events.CodeUndeliverable {
			r.Errorf("the bad command: %+v", reply)
		}
		if reply := good(); !reply.OK {
			r.Errorf("the command behind it: %+v", reply)
		}
		if n := len(r.server.Dead()); n != 1 {
			r.Errorf("%d set aside, want 1", n)
		}
	})
}

// stopped stops the orchestrator and waits for it.
func (p *part) stopped() {
	p.Stop()
	<-p.ended
}

// handWritten appends a commit as something else than this release would.
func (r *rig) handWritten(k events.Key, edit func(c *events.Commit) []byte) {
	r.Helper()
	stored := r.server.Log(k)
	last := stored[len(stored)-1]
	c := events.Commit{
		ID: "by hand", Key: k, Rev: uint64(len(stored) + 1), Prev: events.Hash(last.Body), At: events.At(time.Now()),
		Cause:  events.Cause{Kind: events.CausedByCommand, ID: "by hand", Verb: "archive"},
		Events: []events.Event{events.ChatArchived{}},
	}
	body := edit(&c)
	if body == nil {
		var err error
		if body, err = events.Encode(c); err != nil {
			r.Fatal(err)
		}
	}
	log := r.server.Process("hand").Orchestrator().Log
	if _, err := log.Append(r.Context(), protocol.Append{Key: k, Fence: last.Sequence, Body: body}); err != nil {
		r.Fatal(err)
	}
}

func TestAChatOfANewerRelease(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		edit func(c *events.Commit) []byte
	}{
		{"an event it does not know", func(c *events.Commit) []byte {
			body, _ := events.Encode(*c)
			return []byte(strings.Replace(string(body), "chat.archived.v1", "chat.archived.v2", 1))
		}},
		{"rules it does not know", func(c *events.Commit) []byte {
			c.Events = []events.Event{events.TurnStarted{Turn: 1, Cause: events.CauseInput, Rules: 1_000}}
			return nil
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				o := r.start(answers(says("fine")), nil)
				r.do(chatA, create())
				r.handWritten(chatA, tt.edit)
				r.command(chatA, send("hi"))
				r.eventually("the chat was left to others many times", func() bool { return o.counted("versions") > 20 })
				if n := len(r.server.Log(chatA)); n != 2 {
					r.Errorf("%d commits, want 2", n)
				}
				if len(r.server.Dead()) != 0 || o.counted("faults") != 0 {
					r.Error("a newer release was taken for a fault")
				}
				r.do(events.Key{Tenant: tenant, Chat: "b"}, create()) // others go on
			})
		})
	}
}

func TestADamagedLogStopsItsChat(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		why  string
		edit func(c *events.Commit) []byte
	}{
		{"a commit that does not follow", "does not follow", func(c *events.Commit) []byte { c.Prev = "00"; return nil }},
		{"a commit that is missing", "stands where", func(c *events.Commit) []byte { c.Rev++; return nil }},
		{"a commit of another chat", "another chat", func(c *events.Commit) []byte { c.Key.Chat = "b"; return nil }},
		{"bytes that are no commit", "not a commit", func(*events.Commit) []byte { return []byte("{") }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				o := r.start(answers(says("fine")), nil)
				r.do(chatA, create())
				r.handWritten(chatA, tt.edit)
				for range 2 {
					_, outcome := r.command(chatA, send("hi"))
					if reply := outcome(); reply.Code != events.CodeChatStopped || !strings.Contains(reply.Message, tt.why) {
						r.Errorf("outcome %+v, want a stopped chat because it %s", reply, tt.why)
					}
				}
				if n := o.counted("stopped"); n != 1 {
					r.Errorf("%d chats stopped, want 1", n)
				}
				if n := len(r.server.Log(chatA)); n != 2 {
					r.Errorf("%d commits, want 2", n)
				}
			})
		})
	}
}

// forgetful is a log that has lost its newest commits.
type forgetful struct {
	orchestrator.Log
	kept func() int
}

func (l forgetful) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	last, err := l.Log.Last(ctx, k)
	if err != nil || l.kept() < 0 {
		return last, err
	}
	n := 0
	for m, err := range l.Read(ctx, k, 0, last.Sequence) {
		if n++; n > l.kept() || err != nil {
			break
		}
		last = m
	}
	return last, nil
}

func TestALogThatWentBackwardsStopsItsChat(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		kept := -1
		r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			b.Log = forgetful{b.Log, func() int { return kept }}
		})
		r.do(chatA, create())
		r.do(chatA, protocol.Rename{V: protocol.Version, Title: "a title"})
		kept = 1
		id, first := r.command(chatA, protocol.Archive{V: protocol.Version})
		first() // the fence still held: nobody had looked
		if reply := r.raw(chatA, "archive", id, []byte(`{"v":1}`))(); reply.Code != events.CodeChatStopped {
			r.Errorf("outcome %+v, want a stopped chat", reply)
		}
	})
}
