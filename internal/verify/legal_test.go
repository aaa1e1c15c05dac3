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

const (
	shards = 4
	short  = 8 // messages of the shortest log
)

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
		spread = 12 // of their length
		folded = 4  // every so many logs, what needs the chat's state is judged, too
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

// However a log is broken, the checker says so and goes on. Most changes made by
// chance are violations; a few, such as a dropped title, are not.
func TestNoLogBreaksTheChecker(t *testing.T) {
	t.Parallel()

	const logs = 1_000
	reported := 0
	for i := range uint64(logs) {
		chance := rand.New(rand.NewPCG(i, 1))
		l := logOf(chatgen.Log(ann, chance, short))
		if len(l) < 2 {
			continue
		}
		for range 3 {
			l = l.damage(chance)
		}
		if len(check(l.chain(t), verify.Options{Idle: true})) > 0 {
			reported++
		}
	}
	if reported < logs*9/10 {
		t.Errorf("%d of %d damaged logs are reported", reported, logs)
	}
}

// damage does one thing to the log by chance.
func (l log) damage(chance *rand.Rand) log {
	anywhere := func() spot {
		c := chance.IntN(len(l))
		return spot{c, chance.IntN(len(l[c].Events))}
	}
	a, b := anywhere(), anywhere()
	switch chance.IntN(5) {
	case 0:
		if len(l) > 1 {
			return l.drop(a)
		}
	case 1:
		return l.insert(b, l.at(a))
	case 2:
		return l.swap(a, b)
	case 3:
		if a != b {
			return l.move(a, b)
		}
	case 4:
		l[a.commit], l[b.commit] = l[b.commit], l[a.commit]
	}
	return l
}
