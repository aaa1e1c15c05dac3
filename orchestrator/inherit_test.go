package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

var forkOfA = events.Key{Tenant: tenant, Chat: "fork"}

func fork(of events.Key, rev uint64) protocol.Body {
	return protocol.Fork{V: protocol.Version, Chat: of.Chat, Rev: rev}
}

// refused stores a command and waits for a no.
func (r *rig) refused(k events.Key, body protocol.Body, want events.Code, says string) {
	r.Helper()
	_, outcome := r.command(k, body)
	if got := outcome(); got.OK || got.Code != want || !strings.Contains(got.Message, says) {
		r.Errorf("%s was answered with %+v, want %s: %s", body.Verb(), got, want, says)
	}
}

// A chat with a call that runs is forked. The fork goes on, also where nothing of
// it is remembered, and what it needs is its own.
//
// Rule: S13.
func TestAFork(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.offer(lookup())
		long := strings.Repeat("All work and no play. ", 10_000)
		m := answers(says("first"), calls("lookup", `{"text":"x"}`), says("forked"), says("later"))
		first := r.start(m, nil)
		r.do(chatA, create())
		r.do(chatA, send(long))
		r.eventually("the first turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		r.do(chatA, send("look"))
		r.eventually("a call is handed out", func() bool { return r.has(chatA, "tool.requested.v1") })
		before := r.types(chatA)
		r.do(forkOfA, fork(chatA, 0))
		if got, want := r.types(forkOfA), "chat.created.v2 tool.completed turn.interrupted"; got != want {
			r.Errorf("the fork begins with %s, want %s", got, want)
		}
		if after := r.types(chatA); after != before {
			r.Errorf("the origin has become\n%s", after)
		}
		first.stopped()

		// Another process, which has to read all of it.
		lost := func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Blobs = onlyOf{b.Blobs, forkOfA} }
		r.start(m, lost)
		r.do(forkOfA, send("and now?"))
		r.eventually("the fork has gone on", func() bool { return r.has(forkOfA, "turn.completed.v1") })
		asked := m.requests()[2].Messages
		if n := len(asked); n != 6 || asked[0].Parts[0].Text != long || asked[n-1].Parts[0].Text != "and now?" || asked[4].Results[0].IsError != true {
			r.Errorf("the model was shown %d messages: %+v", n, asked)
		}
		r.refused(forkOfA, fork(chatA, 0), events.CodeExists, "")
	})
}

// onlyOf has content of one chat only.
type onlyOf struct {
	orchestrator.Blobs
	key events.Key
}

func (b onlyOf) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	if k != b.key {
		return nil, protocol.ErrNotFound
	}
	return b.Blobs.Get(ctx, k, d)
}

func TestForksThatCannotBe(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		r.refused(forkOfA, fork(events.Key{Chat: "nobody"}, 0), events.CodeUnknownChat, "there is no chat nobody")
		r.refused(forkOfA, fork(events.Key{Chat: "no name"}, 0), events.CodeBadCommand, "chat: ")
		r.refused(forkOfA, fork(chatA, 2), events.CodeBadCommand, "rev: chat a has 1")
		r.refused(events.Key{Tenant: "other", Chat: "fork"}, fork(chatA, 0), events.CodeUnknownChat, "")
		r.do(forkOfA, fork(chatA, 1))
		r.do(events.Key{Tenant: tenant, Chat: "again"}, fork(forkOfA, 1))
	})
}

// Whether a fork can be made may change: the other chat is made, or grows. What
// was said behind it is not turned away before that is settled, and does not settle
// it: who has the fork in hand may be about to say no.
func TestWhatIsSaidBehindAForkWaitsForIt(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		_, forked := r.command(forkOfA, fork(chatA, 0))
		stuck, err := r.server.Process("stuck").Orchestrator().Commands.Fetch(r.Context(), 1)
		if err != nil || len(stuck) != 1 {
			r.Fatalf("%d commands fetched (%v)", len(stuck), err)
		}
		_, said := r.command(forkOfA, send("hi"))
		o := r.start(answers(says("fine")), nil)
		r.eventually("it was given back", func() bool { return o.counted("given_back") > 0 })
		r.do(chatA, create())
		before := o.counted("given_back")
		r.eventually("it was given back again", func() bool { return o.counted("given_back") > before })
		if r.has(forkOfA, "chat.created.v2") {
			r.Error("the fork was made by one who does not have it in hand")
		}
		if err := stuck[0].Later(r.Context(), 0); err != nil {
			r.Fatal(err)
		}
		for what, outcome := range map[string]func() protocol.Reply{"the fork": forked, "what was said": said} {
			if reply := outcome(); !reply.OK {
				r.Errorf("%s was answered with %s: %s", what, reply.Code, reply.Message)
			}
		}
	})
}

// A fork is one commit: whoever is first makes it, whatever becomes of the others.
func TestManyMakeOneFork(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		m := answers(says("fine"))
		for range 3 {
			r.start(m, nil)
		}
		r.do(chatA, create())
		r.do(chatA, send("hi"))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		var outcomes []func() protocol.Reply
		for range 8 {
			_, outcome := r.command(forkOfA, fork(chatA, 0))
			outcomes = append(outcomes, outcome)
		}
		made := 0
		for _, outcome := range outcomes {
			switch reply := outcome(); {
			case reply.OK:
				made++
			case reply.Code != events.CodeExists:
				r.Errorf("answered with %s: %s", reply.Code, reply.Message)
			}
		}
		if made != 1 {
			r.Errorf("%d forks were made", made)
		}
	})
}

// Without its history a chat is damaged like one that has lost commits.
func TestAChatThatLostItsHistoryIsStopped(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		first := r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		r.do(forkOfA, fork(chatA, 0))
		first.stopped()
		var gone atomic.Bool
		gone.Store(true)
		second := r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Blobs = goneBlobs{b.Blobs, &gone} })
		r.refused(forkOfA, send("hi"), events.CodeChatStopped, "its history")
		r.refused(events.Key{Tenant: tenant, Chat: "again"}, fork(forkOfA, 0), events.CodeChatStopped, "is stopped")
		r.do(chatA, protocol.Rename{V: protocol.Version, Title: "others go on"})
		second.stopped()
		gone.Store(false)
		r.start(answers(says("fine")), nil)
		r.do(forkOfA, protocol.Rename{V: protocol.Version, Title: "it is back"})
	})
}

type goneBlobs struct {
	orchestrator.Blobs
	gone *atomic.Bool
}

func (b goneBlobs) Get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	if b.gone.Load() {
		return nil, protocol.ErrNotFound
	}
	return b.Blobs.Get(ctx, k, d)
}

// What was uploaded becomes a chat only if it is a whole log, with all it refers to.
func TestAnImport(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), nil)
		r.do(chatA, create())
		r.do(chatA, send(strings.Repeat("All work and no play. ", 10_000)))
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		var raw []byte
		for _, m := range r.server.Log(chatA) {
			raw = append(append(raw, m.Body...), '\n')
		}
		history, err := chat.ReadHistory(raw)
		if err != nil || len(history.Contents) != 1 {
			r.Fatalf("history %+v: %v", history, err)
		}
		moved := events.Key{Tenant: "globex", Chat: "moved"}
		blobs := r.server.Process("x").Orchestrator().Blobs
		put := func(content []byte) events.Digest {
			r.Helper()
			d := events.DigestOf(content)
			if err := blobs.Put(r.Context(), moved, d, content); err != nil {
				r.Fatal(err)
			}
			return d
		}
		imported := func(d events.Digest, missing ...events.Digest) protocol.Body {
			return protocol.Import{V: protocol.Version, History: d, Missing: missing}
		}
		r.refused(moved, imported("nonsense"), events.CodeBadCommand, "no digest")
		r.refused(moved, imported(history.Digest), events.CodeInvalidHistory, "not uploaded")
		put(raw)
		r.refused(moved, imported(history.Digest), events.CodeInvalidHistory, "what it refers to was not uploaded")
		r.refused(moved, imported(put(raw[:len(raw)-1])), events.CodeInvalidHistory, "has no end")
		r.refused(moved, imported(put([]byte(strings.Replace(string(raw), "user:ann", "user:bob", 1)))), events.CodeInvalidHistory, "does not follow")
		r.refused(moved, imported(put([]byte(strings.Replace(string(raw), "turn.started.v1", "turn.started.v9", 1)))), events.CodeInvalidHistory, "a newer one wrote it")
		r.refused(moved, send("hi"), events.CodeUnknownChat, "")
		lost := events.Key{Tenant: "globex", Chat: "lost"}
		if err := blobs.Put(r.Context(), lost, history.Digest, raw); err != nil {
			r.Fatal(err)
		}
		r.do(lost, imported(history.Digest, history.Contents[0]))

		content, err := r.server.Blob(chatA, history.Contents[0])
		if err != nil {
			r.Fatal(err)
		}
		put(content)
		r.do(moved, imported(history.Digest))
		r.do(moved, send("and now?"))
		r.eventually("it goes on", func() bool { return r.has(moved, "turn.completed.v1") })
		if started := eventsOf[events.TurnStarted](r, moved)[0]; started.Turn != 2 {
			r.Errorf("it goes on with turn %d", started.Turn)
		}
	})
}

// away is content that cannot be stored for a while.
type away struct {
	orchestrator.Blobs
	until time.Time
}

func (b away) Put(ctx context.Context, k events.Key, d events.Digest, content []byte) error {
	if time.Now().Before(b.until) {
		return errors.New("the store is away")
	}
	return b.Blobs.Put(ctx, k, d, content)
}

// That what it needs is away for long is not the fault of a fork.
func TestAForkOutlivesAStoreThatIsAway(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		r.start(answers(says("fine")), func(_ *orchestrator.Config, b *orchestrator.Bus) {
			b.Blobs = away{Blobs: b.Blobs, until: time.Now().Add(10 * time.Minute)}
		})
		r.do(chatA, create())
		r.do(forkOfA, fork(chatA, 0))
		r.do(forkOfA, send("hi"))
		r.eventually("the fork has gone on", func() bool { return r.has(forkOfA, "turn.completed.v1") })
	})
}
