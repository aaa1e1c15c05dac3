package replay_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"runtime"
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
				log := chatgen.Log(k, rand.New(rand.NewPCG(uint64(i), 2)), shortest+i%spread)
				for name, o := range map[string]replay.Options{"alone": {}, "with everything": everything(log)} {
					h := replayed(o, log.Bytes)
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
