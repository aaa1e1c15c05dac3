package bustest

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Work is the suite of [orchestrator.Work], and of the runner's Fetch.
func Work(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"an attempt is handed to the workers of its pool", func(b *bench) {
			w := modelWork(b.key("a"))
			b.stored(w, true)
			d := b.one(b.model)
			if want := protocol.ModelWorkSubject(pool, w.Key(), w.Step, w.Attempt); d.Subject() != want {
				b.Errorf("subject %s, want %s", d.Subject(), want)
			}
			var got protocol.ModelWork
			b.must(json.Unmarshal(d.Body(), &got))
			if diff := cmp.Diff(w, got); diff != "" {
				b.Errorf("work (-want +got):\n%s", diff)
			}
			b.ack(d)
		}},
		{"a call is handed to the runners of its group, and to no other", func(b *bench) {
			w := toolWork(b.key("a"), group)
			elsewhere := toolWork(b.key("a"), otherGroup)
			elsewhere.Call.Ordinal = 2
			b.stored(elsewhere, true)
			b.stored(w, true)
			d := b.one(b.tool(group))
			if want := protocol.ToolWorkSubject(group, w.Key(), w.Call); d.Subject() != want {
				b.Errorf("subject %s, want %s", d.Subject(), want)
			}
			var got protocol.ToolWork
			b.must(json.Unmarshal(d.Body(), &got))
			if diff := cmp.Diff(w, got); diff != "" {
				b.Errorf("work (-want +got):\n%s", diff)
			}
			b.ack(d)
			b.ack(b.one(b.tool(otherGroup)))
		}},
		{"a word between chats is handed to any orchestrator, once", func(b *bench) {
			w := chatWork(b.key("a"))
			b.stored(w, true)
			b.stored(w, false)
			d := b.one(b.words)
			if want := protocol.ChatWorkSubject(w.Key(), w.Name()); d.Subject() != want {
				b.Errorf("subject %s, want %s", d.Subject(), want)
			}
			var got protocol.ChatWork
			b.must(json.Unmarshal(d.Body(), &got))
			if diff := cmp.Diff(w, got); diff != "" {
				b.Errorf("word (-want +got):\n%s", diff)
			}
			other := w
			other.What = protocol.WordEnded
			b.stored(other, true) // of a name of its own, while the first is in hand
			b.ack(d)
			b.ack(b.one(b.otherWords))
		}},
		{"work that is stored is not stored again", func(b *bench) {
			w := modelWork(b.key("a"))
			b.stored(w, true)
			b.stored(w, false)
			again, err := b.Other.Work.Put(b.ctx, w)
			b.must(err)
			if again {
				b.Error("another process stored it again")
			}
			d := b.one(b.model)
			b.stored(w, false) // in flight
			b.ack(d)
			b.eventually("it may be stored again after its ack", func() bool {
				stored, err := b.Bus.Work.Put(b.ctx, w)
				b.must(err)
				return stored
			})
			b.ack(b.one(b.model))
		}},
		{"of those who put one work one stores it", func(b *bench) {
			for i := range 20 {
				w := modelWork(b.key("a"))
				w.Attempt = i + 1
				var (
					wg  sync.WaitGroup
					won atomic.Int32
				)
				for j := range 2 * contenders {
					port := b.Bus.Work
					if j%2 == 1 {
						port = b.Other.Work
					}
					wg.Go(func() {
						stored, err := port.Put(b.ctx, w)
						if err != nil {
							b.Errorf("put: %v", err)
						}
						if stored {
							won.Add(1)
						}
					})
				}
				wg.Wait()
				if won.Load() != 1 {
					b.Fatalf("work %d was stored %d times", i, won.Load())
				}
				b.ack(b.one(b.model))
			}
		}},
		{"a chat's work is deleted, also what is in hand, and no other's", func(b *bench) {
			k, other := b.key("a"), b.key("ab")
			again := modelWork(k)
			again.Attempt = 2
			b.stored(modelWork(k), true)
			held := b.one(b.model)
			b.stored(again, true)
			b.stored(toolWork(k, otherGroup), true)
			b.stored(toolWork(other, otherGroup), true)
			b.stored(chatWork(k), true) // which holds nothing of the chat's content
			for range 2 {               // again does no harm
				b.must(b.Other.Work.Delete(b.ctx, k))
			}
			for _, w := range []protocol.Work{modelWork(k), again, toolWork(k, otherGroup)} {
				b.stored(w, true) // it was not there any more
			}
			b.stored(toolWork(other, otherGroup), false)
			b.must(b.Other.Work.Delete(b.ctx, k))
			b.ack(held)
			b.ack(b.one(b.words))
			if d := b.one(b.tool(otherGroup)); d.Subject() != protocol.ToolWorkSubject(otherGroup, other, toolWork(other, otherGroup).Call) {
				b.Errorf("fetched %s", d.Subject())
			}
		}},
		{"an attempt that is not settled comes again, to anybody", func(b *bench) {
			b.comesAgain(b.putModel(), b.model, b.otherModel)
		}},
		{"in-progress keeps an attempt", func(b *bench) { b.keeps(b.putModel(), b.model, b.otherModel) }},
		{"later gives an attempt back after the delay", func(b *bench) { b.givesBack(b.putModel(), b.model, b.otherModel) }},
		{"a word that is not settled comes again, to anybody", func(b *bench) {
			b.comesAgain(b.putWord(), b.words, b.otherWords)
		}},
		{"in-progress keeps a word", func(b *bench) { b.keeps(b.putWord(), b.words, b.otherWords) }},
		{"later gives a word back after the delay", func(b *bench) { b.givesBack(b.putWord(), b.words, b.otherWords) }},
		{"a call that is not settled comes again, to anybody", func(b *bench) {
			b.comesAgain(b.putTool(), b.tool(group), b.tool(group))
		}},
		{"in-progress keeps a call", func(b *bench) { b.keeps(b.putTool(), b.tool(group), b.tool(group)) }},
		{"later gives a call back after the delay", func(b *bench) { b.givesBack(b.putTool(), b.tool(group), b.tool(group)) }},
	})
}

func chatWork(k events.Key) protocol.ChatWork {
	return protocol.ChatWork{
		V: protocol.Version, Tenant: k.Tenant, Chat: k.Chat, Rev: 18,
		What: protocol.WordReport, Call: events.CallID{Turn: 3, Step: 2, Ordinal: 1},
	}
}

func modelWork(k events.Key) protocol.ModelWork {
	return protocol.ModelWork{
		V: protocol.Version, Tenant: k.Tenant, Chat: k.Chat, Rev: 18,
		Step: events.StepID{Turn: 3, Step: 2}, Attempt: 1, Purpose: events.PurposeAnswer, Pool: pool,
	}
}

func toolWork(k events.Key, group string) protocol.ToolWork {
	call := events.CallID{Turn: 3, Step: 2, Ordinal: 1}
	return protocol.ToolWork{
		V: protocol.Version, Tenant: k.Tenant, Chat: k.Chat, Rev: 18, Call: call, Tool: "append_ledger", Group: group,
		Manifest: events.DigestOf([]byte("{}")), Arguments: json.RawMessage(`{"line":"x"}`),
		IdempotencyKey: protocol.IdempotencyKey(k, call), TimeoutMS: 5000, Deadline: 1_790_000_000_000,
	}
}

// stored puts work through the first bus and checks whether it was new.
func (b *bench) stored(w protocol.Work, want bool) {
	b.Helper()
	got, err := b.Bus.Work.Put(b.ctx, w)
	b.must(err)
	if got != want {
		b.Errorf("put says stored is %v, want %v", got, want)
	}
}

func (b *bench) model(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return b.Bus.Work.FetchModel(ctx, pool, limit)
}

func (b *bench) otherModel(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return b.Other.Work.FetchModel(ctx, pool, limit)
}

func (b *bench) words(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return b.Bus.Work.FetchChat(ctx, limit)
}

func (b *bench) otherWords(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return b.Other.Work.FetchChat(ctx, limit)
}

func (b *bench) tool(group string) fetcher {
	runner := b.Rig.Runner(group)
	return func(ctx context.Context, limit int) ([]protocol.Delivery, error) {
		return runner.Fetch(ctx, group, limit)
	}
}

// putModel stores a new attempt each time.
func (b *bench) putModel() func() {
	w := modelWork(b.key("again"))
	return func() {
		b.Helper()
		b.stored(w, true)
		w.Attempt++
	}
}

// putWord stores a new word each time.
func (b *bench) putWord() func() {
	w := chatWork(b.key("again"))
	return func() {
		b.Helper()
		b.stored(w, true)
		w.Call.Ordinal++
	}
}

// putTool stores a new call each time.
func (b *bench) putTool() func() {
	w := toolWork(b.key("again"), group)
	return func() {
		b.Helper()
		b.stored(w, true)
		w.Call.Ordinal++
	}
}
