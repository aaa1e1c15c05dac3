package verify_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

const shards = 4

// entries is a generated chat's log as it lies in its stream, from a sequence on.
func entries(c *chatgen.Chat, first uint64) []verify.Entry {
	list := make([]verify.Entry, len(c.Bytes))
	for i, b := range c.Bytes {
		list[i] = verify.Entry{Subject: c.Subject(shards), Sequence: first + uint64(i), Commit: b}
	}
	return list
}

// A checker that cries wolf is worth nothing: whatever chat decides is legal.
func TestGeneratedLogsAreLegal(t *testing.T) {
	t.Parallel()

	const (
		logs   = 10_000
		short  = 10 // messages; longer ones have up to as many more as spread
		spread = 20
		folded = 4 // every so many logs, what needs the chat's state is judged, too
	)
	var wait sync.WaitGroup
	workers := runtime.GOMAXPROCS(0)
	for w := range workers {
		wait.Go(func() {
			for i := w; i < logs; i += workers {
				k := events.Key{Tenant: "acme", Chat: fmt.Sprintf("chat-%d", i)}
				log := chatgen.Log(k, rand.New(rand.NewPCG(uint64(i), 0)), short+i%spread)
				checker := verify.New(verify.Options{
					Shards: shards, SkipFold: i%folded != 0,
					Blob: func(_ events.Key, d events.Digest) ([]byte, error) { return log.Blobs[d], nil },
				})
				for _, e := range entries(log, 1) {
					checker.Add(e)
				}
				for _, v := range checker.Finish(nil) {
					t.Errorf("log %d: %s", i, v)
				}
				if t.Failed() {
					return
				}
			}
		})
	}
	wait.Wait()
}
