package bustest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
)

// Log is the suite of [orchestrator.Log], without Heads.
func Log(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a chat without commits is not found", func(b *bench) {
			_, err := b.Bus.Log.Last(b.ctx, b.key("a"))
			b.want(err, protocol.ErrNotFound)
		}},
		{"what was appended is read back as it was", func(b *bench) {
			k := b.key("a")
			seq, err := b.Bus.Log.Append(b.ctx, protocol.Append{
				Key: k, Body: []byte(`{"x":"ä"}`), Types: "chat.created.v1", Owes: "model,timer", Trace: "00-1-2-01",
			})
			b.must(err)
			m, err := b.Bus.Log.Last(b.ctx, k)
			b.must(err)
			if m.Sequence != seq || string(m.Body) != `{"x":"ä"}` {
				b.Errorf("got sequence %d with %s, want %d with what was appended", m.Sequence, m.Body, seq)
			}
			if _, key, err := protocol.ParseLogSubject(m.Subject); err != nil || key != k {
				b.Errorf("subject %q: got key %v and error %v, want key %v", m.Subject, key, err, k)
			}
			for header, want := range map[string]string{
				protocol.HeaderTypes: "chat.created.v1", protocol.HeaderOwes: "model,timer", protocol.HeaderTraceparent: "00-1-2-01",
			} {
				if got := m.Get(header); got != want {
					b.Errorf("header %s is %q, want %q", header, got, want)
				}
			}
			if m.Time.IsZero() {
				b.Error("the stored time is missing")
			}
			if got := b.read(b.Bus.Log, k, 0, seq); len(got) != 1 || got[0].Sequence != seq || !bytes.Equal(got[0].Body, m.Body) {
				b.Errorf("read %v, want the one commit", got)
			}
		}},
		{"only the last sequence is a fence", func(b *bench) {
			k := b.key("a")
			first := b.append(k, 0, "1")
			second := b.append(k, first, "2")
			for _, fence := range []uint64{0, first, second + 1} {
				_, err := b.Bus.Log.Append(b.ctx, protocol.Append{Key: k, Fence: fence, Body: []byte("no")})
				b.want(err, events.ErrConflict)
			}
			third := b.append(k, second, "3")
			b.bodies(b.read(b.Other.Log, k, 0, third), "1", "2", "3")
		}},
		{"the same bytes again are a conflict, not a second commit", func(b *bench) {
			k := b.key("a")
			seq := b.append(k, 0, "1")
			_, err := b.Other.Log.Append(b.ctx, protocol.Append{Key: k, Body: []byte("1")})
			b.want(err, events.ErrConflict)
			b.bodies(b.read(b.Bus.Log, k, 0, seq), "1")
		}},
		{"a chat that has none refuses a fence", func(b *bench) {
			_, err := b.Bus.Log.Append(b.ctx, protocol.Append{Key: b.key("a"), Fence: 1, Body: []byte("no")})
			b.want(err, events.ErrConflict)
		}},
		{"of those who race behind one fence one wins", raceAppend},
		{"chats do not see each other", func(b *bench) {
			one, two := b.key("a"), b.key("b")
			var fence [2]uint64
			for i := range 5 {
				fence[0] = b.append(one, fence[0], fmt.Sprint("a", i))
				fence[1] = b.append(two, fence[1], fmt.Sprint("b", i))
			}
			b.bodies(b.read(b.Bus.Log, one, 0, fence[0]), "a0", "a1", "a2", "a3", "a4")
			b.bodies(b.read(b.Bus.Log, two, 0, fence[1]), "b0", "b1", "b2", "b3", "b4")
		}},
		{"read gives after < sequence <= through", func(b *bench) {
			k := b.key("a")
			var at []uint64
			for i := range 5 {
				var fence uint64
				if i > 0 {
					fence = at[i-1]
				}
				at = append(at, b.append(k, fence, fmt.Sprint(i)))
			}
			if !slices.IsSorted(at) {
				b.Errorf("sequences %v do not rise", at)
			}
			b.bodies(b.read(b.Bus.Log, k, at[1], at[3]), "2", "3")
			b.bodies(b.read(b.Bus.Log, k, at[3], at[4]), "4")
			b.bodies(b.read(b.Bus.Log, k, at[4], at[4]))
			for m, err := range b.Bus.Log.Read(b.ctx, k, 0, at[4]) { // a reader may stop early
				b.must(err)
				if string(m.Body) != "0" {
					b.Errorf("first is %s, want 0", m.Body)
				}
				break
			}
		}},
		{"what is deleted is not read any more, and the last is a fence as before", func(b *bench) {
			k := b.key("a")
			first := b.append(k, 0, "1")
			second := b.append(k, first, "2")
			third := b.append(k, second, "3")
			for range 2 { // again does no harm
				b.must(b.Bus.Log.Delete(b.ctx, k, second))
			}
			b.eventually("one is gone", func() bool { return len(b.read(b.Other.Log, k, 0, third)) == 2 }) // a replica may be behind
			b.bodies(b.read(b.Other.Log, k, 0, third), "1", "3")
			b.must(b.Bus.Log.Delete(b.ctx, k, first))
			b.eventually("two are gone", func() bool { return len(b.read(b.Other.Log, k, 0, third)) == 1 })
			_, err := b.Other.Log.Append(b.ctx, protocol.Append{Key: k, Fence: second, Body: []byte("no")})
			b.want(err, events.ErrConflict)
			fourth := b.append(k, third, "4")
			b.bodies(b.read(b.Other.Log, k, 0, fourth), "3", "4")
		}},
		{"an acknowledged commit is the last one for every process at once", func(b *bench) {
			k := b.key("a")
			var fence uint64
			for i := range 50 {
				fence = b.append(k, fence, fmt.Sprint(i))
				for _, log := range []orchestrator.Log{b.Other.Log, b.Bus.Log} {
					m, err := log.Last(b.ctx, k)
					b.must(err)
					if m.Sequence != fence {
						b.Fatalf("last is %d right after %d was acknowledged", m.Sequence, fence)
					}
				}
			}
		}},
		{"a commit of the largest size is stored", func(b *bench) {
			k := b.key("a")
			body := bytes.Repeat([]byte("x"), events.MaxCommitBytes)
			seq, err := b.Bus.Log.Append(b.ctx, protocol.Append{Key: k, Body: body, Types: "chat.created.v1"})
			b.must(err)
			if got := b.read(b.Bus.Log, k, 0, seq); len(got) != 1 || !bytes.Equal(got[0].Body, body) {
				b.Error("it is not what was appended")
			}
		}},
		{"a read that cannot go on ends with an error", func(b *bench) {
			k := b.key("a")
			seq := b.append(k, 0, "1")
			seq = b.append(k, seq, "2")
			ctx, cancel := context.WithCancel(b.ctx)
			cancel()
			var last error
			for _, err := range b.Bus.Log.Read(ctx, k, 0, seq) {
				last = err
			}
			if last == nil {
				b.Error("a read under a context that has ended gave no error")
			}
		}},
	})
}

// Heads is the suite of the log's Heads.
func Heads(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"the newest of each chat, then ready, then what is new", func(b *bench) {
			one, two, late := b.key("a"), b.key("b"), b.key("c")
			first := b.append(one, 0, "1")
			second := b.store(protocol.Append{Key: one, Fence: first, Body: []byte("2"), Owes: "tool"})
			other := b.append(two, 0, "1")

			heads := newHeads(b, b.Other.Log)
			b.eventually("ready", func() bool { return heads.ready.Load() == 1 })
			if h := heads.get(one); h.Sequence != second || h.Owes != "tool" || h.Stored.IsZero() {
				b.Errorf("head of the first chat is %+v, want sequence %d that owes a tool", h, second)
			}
			if h := heads.get(two); h.Sequence != other || h.Owes != "" {
				b.Errorf("head of the second chat is %+v, want sequence %d that owes nothing", h, other)
			}
			if n := heads.seen(one); n != 1 {
				b.Errorf("%d heads of one chat before ready, want only the newest", n)
			}
			third := b.store(protocol.Append{Key: two, Fence: other, Body: []byte("2"), Owes: "model"})
			born := b.append(late, 0, "1")
			b.eventually("new heads are told", func() bool {
				return heads.get(two).Sequence == third && heads.get(late).Sequence == born
			})
			if h := heads.get(two); h.Owes != "model" {
				b.Errorf("head owes %q, want model", h.Owes)
			}
		}},
		{"none is missed while they are being read", func(b *bench) {
			k := b.key("a")
			fence := b.append(k, 0, "0")
			heads := newHeads(b, b.Bus.Log)
			for i := range 50 {
				fence = b.append(k, fence, fmt.Sprint(i))
			}
			b.eventually("the newest head is told", func() bool { return heads.get(k).Sequence == fence })
			b.eventually("ready", func() bool { return heads.ready.Load() == 1 })
		}},
		{"an empty store is ready", func(b *bench) {
			heads := newHeads(b, b.Bus.Log)
			b.eventually("ready", func() bool { return heads.ready.Load() == 1 })
		}},
	})
}

func raceAppend(b *bench) {
	const rounds = 20
	k := b.key("a")
	var fence uint64
	for won := 0; won < rounds; {
		sequence, winners := b.race(k, fence)
		switch winners {
		case 0: // the write before was still under way for all of them
		case 1:
			fence = sequence
			won++
		default:
			b.Fatalf("behind the fence %d %d won, want one", fence, winners)
		}
	}
	if got := b.read(b.Bus.Log, k, 0, fence); len(got) != rounds {
		b.Errorf("the log has %d commits, want %d", len(got), rounds)
	}
}

// race lets many append behind one fence.
func (b *bench) race(k events.Key, fence uint64) (sequence uint64, winners int32) {
	b.Helper()
	var (
		wg   sync.WaitGroup
		won  atomic.Int32
		next atomic.Uint64
	)
	for i := range 2 * contenders {
		log := b.Bus.Log
		if i%2 == 1 {
			log = b.Other.Log
		}
		wg.Go(func() {
			seq, err := log.Append(b.ctx, protocol.Append{Key: k, Fence: fence, Body: fmt.Appendf(nil, "behind %d by %d", fence, i)})
			if err == nil {
				won.Add(1)
				next.Store(seq)
				return
			}
			if b.ctx.Err() == nil {
				b.wantSoft(err, events.ErrConflict)
			}
		})
	}
	wg.Wait()
	return next.Load(), won.Load()
}

// append stores a commit through the first bus.
func (b *bench) append(k events.Key, fence uint64, body string) uint64 {
	b.Helper()
	return b.store(protocol.Append{Key: k, Fence: fence, Body: []byte(body)})
}

// store appends a commit that nobody contends. Replicas may still take the
// chat's write before for one under way when it was answered already: then the
// last sequence is the fence, and the same commit is tried again.
func (b *bench) store(a protocol.Append) uint64 {
	b.Helper()
	for {
		sequence, err := b.Bus.Log.Append(b.ctx, a)
		if !errors.Is(err, events.ErrConflict) {
			b.must(err)
			return sequence
		}
		if last, lastErr := b.Bus.Log.Last(b.ctx, a.Key); lastErr != nil || last.Sequence != a.Fence {
			b.Fatalf("%v, and the last commit is %d with error %v", err, last.Sequence, lastErr)
		}
	}
}

func (b *bench) read(log orchestrator.Log, k events.Key, after, through uint64) []protocol.Stored {
	b.Helper()
	var all []protocol.Stored
	for m, err := range log.Read(b.ctx, k, after, through) {
		b.must(err)
		all = append(all, m)
	}
	return all
}

func (b *bench) bodies(got []protocol.Stored, want ...string) {
	b.Helper()
	var bodies []string
	for _, m := range got {
		bodies = append(bodies, string(m.Body))
	}
	if !slices.Equal(bodies, want) {
		b.Errorf("got %q, want %q", bodies, want)
	}
}

// heads collects what Heads tells.
type heads struct {
	mu    sync.Mutex
	last  map[events.Key]protocol.Head
	count map[events.Key]int
	ready atomic.Int32
}

func newHeads(b *bench, log orchestrator.Log) *heads {
	h := &heads{last: map[events.Key]protocol.Head{}, count: map[events.Key]int{}}
	b.background(func(ctx context.Context) error {
		return log.Heads(ctx, func(head protocol.Head) {
			h.mu.Lock()
			defer h.mu.Unlock()
			h.last[head.Key] = head
			h.count[head.Key]++
		}, func() { h.ready.Add(1) })
	})
	return h
}

func (h *heads) get(k events.Key) protocol.Head {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.last[k]
}

func (h *heads) seen(k events.Key) int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count[k]
}
