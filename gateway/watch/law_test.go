package watch_test

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
)

// record is what a watcher was given over all its connections.
type record struct {
	rev     uint64            // the cursor
	commits map[uint64]string // by rev; not those that a snapshot stands for
	from    uint64            // of the snapshot; 0 if it began with the first commit
	step    events.StepID
	attempt int
	next    int // of the deltas of that attempt
}

// take checks that an event goes on from what came before.
func (r *record) take(e watch.Event) error {
	switch e.Kind {
	case watch.KindSnapshot:
		if e.Rev != 0 {
			if r.rev != 0 {
				return fmt.Errorf("a snapshot came at rev %d", r.rev)
			}
			r.rev, r.from = e.Rev, e.Rev
		}
	case watch.KindCommit:
		if e.Rev != r.rev+1 {
			return fmt.Errorf("rev %d came after rev %d", e.Rev, r.rev)
		}
		r.rev = e.Rev
		r.commits[e.Rev] = string(e.Data)
	case watch.KindDelta:
		d := e.Delta
		if d.I == 0 {
			r.step, r.attempt, r.next = d.Step, d.Attempt, 0
		}
		if d.Step != r.step || d.Attempt != r.attempt || d.I != r.next {
			return fmt.Errorf("delta %d of %s#%d came; want %d of %s#%d", d.I, d.Step, d.Attempt, r.next, r.step, r.attempt)
		}
		r.next++
	case watch.KindProgress:
	case watch.KindReset:
		return fmt.Errorf("a reset: %+v", e.Reset)
	}
	return nil
}

// Whatever the feed loses, repeats or changes the order of, and however often
// watchers leave and come back: each is given every commit behind its beginning once,
// in order, as it is stored, and of an answer on its way no piece twice and none
// before one that is missing.
func TestWhateverTheFeedLosesNobodyMissesAnything(t *testing.T) {
	t.Parallel()
	const histories, watchers, messages = 30, 6, 40
	for seed := range uint64(histories) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				chance := rand.New(rand.NewPCG(seed, 43))
				w := newWorld(t)
				h := w.hub(watch.Config{})
				history := chatgen.Log(ann, chance, messages)
				for len(history.Commits) == 0 { // it was refused
					history = chatgen.Log(ann, chance, messages)
				}
				w.lose(history, 0, chance)
				end := uint64(len(history.Commits))
				var all sync.WaitGroup
				for n := range watchers {
					mine := rand.New(rand.NewPCG(seed, uint64(n)))
					all.Go(func() {
						r := &record{commits: map[uint64]string{}}
						cursor := []string{"", "0"}[n%2]
						for r.rev < end {
							s, err := h.Open(t.Context(), ann, cursor)
							if err != nil {
								t.Error(err)
								return
							}
							for until := mine.IntN(30) + 1; until > 0 && r.rev < end; until-- {
								e, err := s.Next(t.Context())
								if err == nil {
									err = r.take(e)
								}
								if err != nil {
									t.Errorf("watcher %d: %v", n, err)
									s.Close()
									return
								}
								cursor = s.Cursor()
								<-time.After(time.Duration(mine.IntN(300)) * time.Millisecond)
							}
							s.Close()
						}
						for rev := r.from + 1; rev <= end; rev++ {
							if r.commits[rev] != string(history.Bytes[rev-1]) {
								t.Errorf("watcher %d: rev %d is %q", n, rev, r.commits[rev])
							}
						}
					})
				}
				for rev := 1; rev < len(history.Commits); rev++ {
					w.lose(history, rev, chance)
				}
				w.gap() // so that the end is found without a turn that is open
				all.Wait()
			})
		})
	}
}

// lose stores a commit of a history and tells of it and of the attempts that it
// requests, or does not, or too often.
func (w *world) lose(history *chatgen.Chat, rev int, chance *rand.Rand) {
	w.mu.Lock()
	w.log[ann] = append(w.log[ann], protocol.Stored{Sequence: uint64(rev + 1), Body: history.Bytes[rev]})
	w.mu.Unlock()
	for range chance.IntN(3) {
		w.tell(ann, protocol.FeedCommit, history.Bytes[rev])
	}
	for _, e := range history.Commits[rev].Events {
		asked, ok := e.(events.StepRequested)
		if !ok {
			continue
		}
		for i := range chance.IntN(8) {
			body := w.keep(ann, asked.Step.Turn, asked.Step.Step, asked.Attempt, i)
			for range chance.IntN(3) {
				w.tell(ann, protocol.FeedDelta, body)
			}
		}
	}
	if chance.IntN(10) == 0 {
		w.gap()
	}
	<-time.After(time.Duration(chance.IntN(1000)) * time.Millisecond)
}
