package system

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// isGone reports whether the log has nothing but its tombstone and what follows it.
func isGone(h history) bool {
	return len(h.commits) == 2 && len(all[events.ChatErased](h)) == 1 && len(all[events.ContentDeleted](h)) == 1
}

// What was said in an erased chat is on no disk any more where the chat lay, its
// transcript says that it was erased, and what went on from it goes on.
func TestErasedContentIsGone(t *testing.T) {
	t.Parallel()
	const word = "xylophone"
	store := t.TempDir()
	s := newSystem(t, options{store: store})
	s.startOrchestrator(nil)
	s.startProjections()
	c := s.chat(t, scripted(t, plain))
	c.turn(word)
	c.turn(strings.Repeat(word+" ", events.MaxInlineBytes/4))
	if c.transcript().MessageCount != 4 { // also what is cached must not be shown any more
		t.Fatal("a turn is missing")
	}
	fork := s.again(t, "fork-"+c.key.Chat, scripted(t, plain))
	fork.do(protocol.Fork{V: protocol.Version, Chat: c.key.Chat, Rev: 1})
	for _, kind := range []string{"LOG_", "OBJ_BLOBS"} {
		if !stands(t, store, kind, word) {
			t.Fatalf("nothing of what was said is in %s: this test looks in the wrong place", kind)
		}
	}
	c.do(protocol.Erase{V: protocol.Version})
	c.until("everything is deleted", isGone)
	for _, kind := range []string{"LOG_", "OBJ_BLOBS"} {
		eventually(t, "what was said is not in "+kind, func() bool { return !stands(t, store, kind, word) })
	}
	for _, at := range []projections.Point{{}, {Rev: 4}} {
		var page projections.Transcript
		err := c.c.Query(patient(t), projections.QueryTranscript, projections.TranscriptRequest{Chat: c.key.Chat, At: at}, &page)
		if no, ok := errors.AsType[*client.QueryError](err); !ok || no.Code != events.CodeErased {
			t.Errorf("the transcript at %+v: %v", at, err)
		}
	}
	if no := c.refused(send("hi")); no.Code != events.CodeErased {
		t.Errorf("what is said now gets %+v", no)
	}
	c.judge()
	fork.do(protocol.Configure{V: protocol.Version, Settings: events.Settings{Model: fork.key.Chat}})
	fork.turn("and you?")
	fork.judge()
}

// stands reports whether a word is on the disk in a stream whose name begins so.
func stands(t *testing.T, store, stream, word string) bool {
	t.Helper()
	found := false
	err := filepath.WalkDir(store, func(path string, d fs.DirEntry, err error) error {
		if errors.Is(err, fs.ErrNotExist) { // the server has just replaced it
			return nil
		}
		if err != nil || d.IsDir() || !strings.Contains(path, "/"+stream) {
			return err
		}
		content, err := os.ReadFile(path)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		found = found || bytes.Contains(content, []byte(word))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

// broken is a log that lets nothing be deleted any more after some commits.
type broken struct {
	orchestrator.Log
	left chan struct{}
}

var errBroken = errors.New("this process does nothing more")

func (l broken) Delete(ctx context.Context, k events.Key, sequence uint64) error {
	select {
	case l.left <- struct{}{}:
		return l.Log.Delete(ctx, k, sequence)
	default:
		return errBroken
	}
}

// A process that dies in the middle of a deletion leaves the rest to the next one.
func TestAnErasureIsFinishedByTheNextProcess(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	const some = 2
	left := make(chan struct{}, some)
	first := s.startOrchestrator(func(_ *orchestrator.Config, b *orchestrator.Bus) { b.Log = broken{b.Log, left} })
	c := s.chat(t, scripted(t, plain))
	c.turn("one")
	c.turn("two")
	before := len(c.read().commits)
	c.do(protocol.Erase{V: protocol.Version})
	c.until("some commits are deleted", func(history) bool { return len(left) == some })
	first.halt()
	if h := c.read(); isGone(h) || len(h.commits) != before {
		t.Fatalf("the log has %d commits; it had %d", len(h.commits), before)
	}
	s.startOrchestrator(nil)
	c.until("everything is deleted", isGone)
	c.judge()
}
