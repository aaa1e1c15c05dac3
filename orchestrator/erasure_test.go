package orchestrator_test

import (
	"context"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

func erase() protocol.Body { return protocol.Erase{V: protocol.Version} }

// left is what is left of an erased chat.
const left = "chat.erased\ncontent.deleted"

// gone reports whether nothing else is left of a chat.
func (r *rig) gone(k events.Key) bool {
	r.Helper()
	return r.types(k) == left && len(r.server.Contents(k)) == 0
}

// A chat is erased while a call runs and an input waits: all of it ends, and nothing
// is left but the tombstone. What went on from it keeps what it has.
func TestErasing(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(lookup())
		long := strings.Repeat("All work and no play. ", 10_000)
		o := r.start(answers(says("first"), calls("lookup", `{"n":1}`), says("forked")), nil)
		r.do(chatA, create())
		r.do(chatA, send(long))
		r.eventually("the first turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		r.do(forkOfA, fork(chatA, 0))
		r.do(chatA, send("look"))
		r.eventually("a call is handed out", func() bool { return r.has(chatA, "tool.requested.v1") })
		r.do(chatA, send("what waits"))
		id, outcome := r.command(chatA, erase())
		if reply := outcome(); !reply.OK {
			t.Fatalf("erase was answered with %+v", reply)
		}
		r.refused(chatA, send("late"), events.CodeErased, "is being erased")
		r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		r.refused(chatA, send("too late"), events.CodeErased, "was erased")
		r.refused(chatA, create(), events.CodeErased, "")
		r.refused(events.Key{Tenant: tenant, Chat: "again"}, fork(chatA, 0), events.CodeErased, "chat a was erased")
		if again := r.raw(chatA, "erase", id, []byte(`{"v":1}`))(); !again.OK {
			t.Errorf("the same command again is answered with %+v", again)
		}
		r.do(forkOfA, send("and you?"))
		r.eventually("the fork goes on", func() bool { return r.has(forkOfA, "turn.completed.v1") })
		if n := o.counted("stopped"); n != 0 {
			t.Errorf("%d chats were stopped", n)
		}
	})
}

// mortal ends its process at the n-th of its writes, once.
type mortal struct {
	orchestrator.Bus
	die func()
	at  int
	n   *int
}

func (m mortal) passes() bool {
	*m.n++
	if *m.n == m.at {
		m.die()
		return false
	}
	return true
}

func (m mortal) bus() orchestrator.Bus {
	b := m.Bus
	b.Log, b.Blobs = mortalLog{m.Bus.Log, m}, mortalBlobs{m.Bus.Blobs, m}
	return b
}

type mortalLog struct {
	orchestrator.Log
	m mortal
}

func (l mortalLog) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	if !l.m.passes() {
		return 0, context.Canceled
	}
	return l.Log.Append(ctx, a)
}

func (l mortalLog) Delete(ctx context.Context, k events.Key, sequence uint64) error {
	if !l.m.passes() {
		return context.Canceled
	}
	return l.Log.Delete(ctx, k, sequence)
}

type mortalBlobs struct {
	orchestrator.Blobs
	m mortal
}

func (b mortalBlobs) Delete(ctx context.Context, k events.Key, d events.Digest) error {
	if !b.m.passes() {
		return context.Canceled
	}
	return b.Blobs.Delete(ctx, k, d)
}

// Whoever comes next finishes an erasure, wherever its process died.
func TestAnErasureOutlivesItsProcess(t *testing.T) {
	t.Parallel()

	const writes = 9 // request, tombstone, four commits, one content, the end; one more than there are
	for at := 1; at <= writes; at++ {
		inBubble(t, func(r *rig) {
			long := strings.Repeat("All work and no play. ", 10_000)
			first := r.start(answers(says("first")), nil)
			r.do(chatA, create())
			r.do(chatA, send(long))
			r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
			first.stopped()

			n := 0
			second := r.build(answers(), nil)
			process := second.process
			second = r.start(answers(), func(_ *orchestrator.Config, b *orchestrator.Bus) {
				*b = mortal{Bus: process.Orchestrator(), die: process.Kill, at: at, n: &n}.bus()
			})
			r.command(chatA, erase())
			r.eventually("the process died, or all is done", func() bool { return process.Killed() || r.gone(chatA) })
			second.stopped()
			r.log(chatA) // has no hole but before its tombstone
			r.start(answers(), nil)
			r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		})
	}
}

// Content that comes late is not taken: nobody would delete it.
func TestContentOfAnErasedChat(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("first")), nil)
		r.do(chatA, create())
		runner := r.server.Process("r").Runner()
		kept, err := runner.Upload(r.Context(), chatA, []byte("kept"))
		if err != nil {
			t.Fatal(err)
		}
		r.do(chatA, erase())
		r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		if _, err := runner.Upload(r.Context(), chatA, []byte("late")); err == nil || !strings.Contains(err.Error(), "was erased") {
			t.Errorf("an upload ends with %v", err)
		}
		if _, err := runner.Download(r.Context(), chatA, kept); err == nil || !strings.Contains(err.Error(), "was erased") {
			t.Errorf("a download ends with %v", err)
		}
		if len(r.server.Contents(chatA)) > 0 {
			t.Error("something is stored")
		}
	})
}

// A call whose runner never comes is in the queue with its arguments: they go, too.
func TestWorkOfAnErasedChat(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(lookup()) // by nobody who is there
		r.start(answers(calls("lookup", `{"n":1}`), says("first")), nil)
		for _, k := range []events.Key{chatA, forkOfA} {
			r.do(k, create())
			r.do(k, send("look"))
			r.eventually("a call is handed out", func() bool { return r.has(k, "tool.requested.v1") || r.has(k, "turn.completed.v1") })
		}
		r.do(chatA, protocol.Interrupt{V: protocol.Version})
		r.do(chatA, erase())
		r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		for _, m := range r.server.Work() {
			if strings.Contains(m.Subject, "."+chatA.String()+".") {
				t.Errorf("%s is left: %s", m.Subject, m.Body)
			}
		}
	})
}

// harmful panics when content is read.
type harmful struct{ orchestrator.Blobs }

func (harmful) Get(context.Context, events.Key, events.Digest) ([]byte, error) { panic("a bug") }

// What comes after the deletion is answered without being kept anywhere, also if it
// would do harm.
func TestAHarmfulCommandToAnErasedChatIsNotKept(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		o := r.start(answers(), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Blobs = harmful{b.Blobs} })
		r.do(chatA, create())
		r.do(chatA, erase())
		r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		picture := events.Part{Type: events.PartImage, MediaType: "image/png", Bytes: 1, Blob: events.DigestOf([]byte("x"))}
		r.refused(chatA, protocol.Send{V: protocol.Version, Parts: []events.Part{picture}}, events.CodeErased, "was erased")
		if dead := r.server.Dead(); len(dead) > 0 {
			t.Errorf("set aside: %s", dead[0].Message.Body)
		}
		if n := o.counted("faults"); n != 0 {
			t.Errorf("%d faults", n)
		}
	})
}

// slow is a store of snapshots that takes its time for one chat.
type slow struct {
	orchestrator.Snapshots
	of      events.Key
	reached chan<- struct{}
	release <-chan struct{}
}

func (s slow) Put(ctx context.Context, k events.Key, version int, content []byte) error {
	if k == s.of {
		s.reached <- struct{}{}
		<-s.release
	}
	return s.Snapshots.Put(ctx, k, version, content)
}

// A state that waited to be written while its chat was erased is not written any more:
// nobody would delete it.
func TestNoSnapshotIsLeftOfAnErasedChat(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		reached, release := make(chan struct{}, 1), make(chan struct{})
		r.start(answers(says("first"), says("second"), says("third")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			b.Snapshots = slow{b.Snapshots, forkOfA, reached, release}
		})
		r.do(forkOfA, create())
		r.do(forkOfA, send("one"))
		<-reached
		r.do(chatA, create())
		r.do(chatA, send("two"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		r.do(chatA, erase())
		r.eventually("nothing is left", func() bool { return r.gone(chatA) })
		close(release)
		last := events.Key{Tenant: tenant, Chat: "last"}
		r.do(last, create())
		r.do(last, send("three"))
		stored := func(k events.Key) bool {
			_, err := r.server.Process("reader").Orchestrator().Snapshots.Get(r.Context(), k, chat.FoldVersion)
			return err == nil
		}
		r.eventually("what waited behind it is written", func() bool { return stored(last) })
		if stored(chatA) {
			t.Error("a snapshot of an erased chat is left")
		}
	})
}
