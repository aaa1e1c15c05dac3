package replay_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
)

func replayed(o replay.Options, commits [][]byte) *replay.History {
	h := replay.New(o)
	for i, b := range commits {
		h.Add(uint64(i+1), b)
	}
	return h
}

// everything is what there is beside a generated log.
func everything(log *chatgen.Chat) replay.Options {
	return replay.Options{
		Blob: func(_ events.Key, d events.Digest) ([]byte, error) {
			if b, ok := log.Blobs[d]; ok {
				return b, nil
			}
			return nil, fmt.Errorf("no blob %s", d)
		},
		Schema: func(events.Digest) (json.RawMessage, error) { return chatgen.Schema(), nil },
	}
}

// What chat decided a moment ago it decides again, with and without what lies
// beside the log.
func TestGeneratedLogsReplayWithoutDifference(t *testing.T) {
	t.Parallel()

	const (
		logs     = 1_000
		shortest = 8
		spread   = 60
		forks    = 4 // every so many logs, the chat goes on from another one
		erased   = 5 // every so many logs, the chat is erased
		children = 3 // every so many logs, the chat works for another one
	)
	var (
		wait   sync.WaitGroup
		mu     sync.Mutex
		counts replay.Counts
	)
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < logs; i += workers {
				k := events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%d", i)}
				chance := rand.New(rand.NewPCG(uint64(i), 2))
				log := chatgen.Log(k, chance, shortest+i%spread)
				if i%children == 1 {
					log = workingFor(k, chance, shortest+i%spread)
				}
				options := map[string]replay.Options{"alone": {}, "with everything": everything(log)}
				if i%forks == 0 && log.State.Exists() {
					log = goneOn(log, chance)
					options = map[string]replay.Options{"with everything": everything(log)} // alone there is no history
				}
				bytes := log.Bytes
				if i%erased == 0 && log.State.Exists() {
					log.Erase()
					log.Rest()
					bytes = log.Bytes
					if left := chance.IntN(2 * len(bytes)); left < len(bytes)-2 { // else all of it
						bytes = slices.Concat(bytes[:left], bytes[len(bytes)-2:])
					}
				}
				for name, o := range options {
					h := replayed(o, bytes)
					if h.Newer() != nil {
						t.Errorf("log %d %s: %v", i, name, h.Newer())
					}
					if d := h.Difference(); d != nil {
						t.Errorf("log %d %s: %s", i, name, d)
						return
					}
					mu.Lock()
					counts.Commits += h.Counts().Commits
					counts.Believed += h.Counts().Believed
					mu.Unlock()
				}
			}
		})
	}
	wait.Wait()
	t.Logf("%d commits, %d of them believed", counts.Commits, counts.Believed)
	if counts.Believed*20 > counts.Commits {
		t.Errorf("%d of %d commits are only believed", counts.Believed, counts.Commits)
	}
}

// workingFor is a chat that works for another one.
func workingFor(parent events.Key, chance *rand.Rand, messages int) *chatgen.Chat {
	d := chatgen.NewChildDriver(parent, chance)
	for range messages {
		d.Take(d.Next())
	}
	return d.Chat
}

// goneOn is a chat that goes on from another one.
func goneOn(c *chatgen.Chat, chance *rand.Rand) *chatgen.Chat {
	k, rev := events.Key{Tenant: "acme", Chat: "fork"}, 1+chance.Uint64N(c.State.Rev())
	fork := c.ForkAt(k, rev)
	if chance.IntN(2) == 0 {
		fork = c.ImportAt(k, rev)
	}
	d := chatgen.DriverOf(fork, chance)
	for range 20 {
		d.Take(d.Next())
	}
	return fork
}

// A chat whose history is not at hand, or is another, is not replayed.
func TestAChatWithoutItsHistoryIsNotReplayed(t *testing.T) {
	t.Parallel()
	c := chatgen.New(events.Key{Tenant: "acme", Chat: "c"})
	c.Create(events.Settings{})
	c.Send("hi")
	fork := c.ForkAt(events.Key{Tenant: "acme", Chat: "fork"}, 2)
	other := c.History(1)
	for name, blob := range map[string]replay.Blob{
		"none":     nil,
		"not kept": func(events.Key, events.Digest) ([]byte, error) { return nil, fmt.Errorf("gone") },
		"another":  func(events.Key, events.Digest) ([]byte, error) { return other, nil },
		"nonsense": func(events.Key, events.Digest) ([]byte, error) { return []byte("x"), nil },
	} {
		h := replayed(replay.Options{Blob: blob}, fork.Bytes)
		if h.Newer() == nil || h.Difference() != nil {
			t.Errorf("%s: not judged: %v, difference: %v", name, h.Newer(), h.Difference())
		}
		if _, err := replay.Fold(fork.Commits, blob); err == nil {
			t.Errorf("%s: folded", name)
		}
	}
	s, err := replay.Fold(fork.Commits, everything(fork).Blob)
	if err != nil || s.Hash() != fork.State.Hash() {
		t.Errorf("folded to another state: %v", err)
	}
}
