package system

import (
	"bytes"
	"context"
	"iter"
	"log/slog"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// newerLog is the log as a replica of the next release sees it. To that release
// the bytes future mean what known means to ours; so this is ours, and it is
// shown the one for the other. The chain of hashes is told both ways.
type newerLog struct {
	orchestrator.Log

	future, known []byte

	mu     sync.Mutex
	seen   map[string]string // hash of stored bytes to that of the bytes seen
	stored map[string]string // and back
}

func newerReleases(l orchestrator.Log, future, known string) *newerLog {
	return &newerLog{
		Log: l, future: []byte(future), known: []byte(known), seen: map[string]string{}, stored: map[string]string{},
	}
}

func (l *newerLog) Last(ctx context.Context, k events.Key) (protocol.Stored, error) {
	m, err := l.Log.Last(ctx, k)
	return l.show(m), err
}

func (l *newerLog) Read(ctx context.Context, k events.Key, after, through uint64) iter.Seq2[protocol.Stored, error] {
	return func(yield func(protocol.Stored, error) bool) {
		for m, err := range l.Log.Read(ctx, k, after, through) {
			if !yield(l.show(m), err) {
				return
			}
		}
	}
}

func (l *newerLog) Append(ctx context.Context, a protocol.Append) (uint64, error) {
	body := l.relink(a.Body, l.stored)
	l.note(body, a.Body)
	a.Body = body
	return l.Log.Append(ctx, a)
}

func (l *newerLog) show(m protocol.Stored) protocol.Stored {
	body := l.relink(bytes.Replace(m.Body, l.future, l.known, 1), l.seen)
	l.note(m.Body, body)
	m.Body = body
	return m
}

func (l *newerLog) note(stored, seen []byte) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seen[events.Hash(stored)], l.stored[events.Hash(seen)] = events.Hash(seen), events.Hash(stored)
}

// relink is a commit with the hash of the one before it as the other side has it.
func (l *newerLog) relink(body []byte, hashes map[string]string) []byte {
	const before, digits = `"prev":"`, 64
	at := bytes.Index(body, []byte(before)) + len(before)
	if at < len(before) || len(body) < at+digits {
		return body // the first commit has none
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	other, ok := hashes[string(body[at:at+digits])]
	if !ok {
		return body
	}
	return bytes.Replace(body, body[at:at+digits], []byte(other), 1)
}

// leftAlone is what an orchestrator logs when it cannot read a chat.
const leftAlone = "chat left to a newer release"

// newerVersion is something that only the next release knows: the bytes it writes,
// and those of ours that mean the same.
type newerVersion struct {
	name          string // the first column of docs/BAD_INPUTS.md
	future, known string
}

func newerVersions() []newerVersion {
	return []newerVersion{
		{"an event version of a newer release", "chat.archived.v2", "chat.archived.v1"},
		{"a commit version of a newer release", `{"v":2,`, `{"v":1,`},
	}
}

// A rolling upgrade: the first replica of the new release has written something
// that the others do not know. They leave that chat alone, and its commands wait.
func TestAChatOfANewerReleaseWaitsForIt(t *testing.T) {
	t.Parallel()
	for _, tt := range newerVersions() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{})
			said := newLines()
			quick := func(cfg *orchestrator.Config) {
				cfg.RetryDelay, cfg.Log = 50*time.Millisecond, slog.New(said)
			}
			s.startOrchestrator(func(cfg *orchestrator.Config, _ *orchestrator.Bus) { quick(cfg) })
			s.startProjections()
			s.startRunner(nil)
			t.Cleanup(s.nothingIsLeft)
			newer, other := s.chat(t, scripted(t, plain)), s.chat(t, scripted(t, plain))

			newer.forge(bytes.Replace(encoded(t, newer.next()), []byte(tt.known), []byte(tt.future), 1))
			before := newer.stored()
			_, outcome := newer.raw("rename", nil, []byte(`{"v":1,"title":"a new title"}`))
			eventually(t, "the old release has seen it several times", func() bool { return said.times(leftAlone) > 3 })
			other.stillWorks()
			newer.notShown(events.CodeUnavailable)
			if n := newer.waiting(); n != 1 {
				t.Errorf("%d commands wait, want 1", n)
			}
			if after := newer.stored(); after != before {
				t.Errorf("the last commit has sequence %d, and had %d", after, before)
			}
			if n := newer.messages(streams.DeadStream, protocol.DeadSubject(newer.key)); n != 0 {
				t.Errorf("%d messages were set aside", n)
			}

			s.startOrchestrator(func(cfg *orchestrator.Config, bus *orchestrator.Bus) {
				quick(cfg)
				bus.Log = newerReleases(bus.Log, tt.future, tt.known)
			})
			if r := outcome(); !r.OK || r.Rev != 3 {
				t.Errorf("reply %+v, want yes at rev 3", r)
			}
			newer.log = newerReleases(s.bus.Log, tt.future, tt.known)
			newer.stillWorks() // although the old release is still there, and gets some of the work
			if failed := all[events.StepFailed](newer.read()); len(failed) > 0 {
				t.Errorf("attempts failed: %+v", failed)
			}
		})
	}
}
