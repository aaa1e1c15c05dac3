package bustest

import (
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Commands is the suite of [orchestrator.Commands].
func Commands(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a command is handed over as it was published", func(b *bench) {
			k := b.key("a")
			before := time.Now().Add(-slack)
			seq, err := b.Publish(k, "send", map[string]string{protocol.HeaderID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", protocol.HeaderBy: "user:ann"}, []byte(`{"v":1}`))
			b.must(err)
			d := b.one(b.Commands.Fetch)
			if d.Subject() != protocol.CommandSubject(k, "send") || string(d.Body()) != `{"v":1}` || d.Sequence() != seq || d.Count() != 1 {
				b.Errorf("got %s %d with %s for the %d. time", d.Subject(), d.Sequence(), d.Body(), d.Count())
			}
			if d.Header(protocol.HeaderID) != "01ARZ3NDEKTSV4RRFFQ69G5FAV" || d.Header(protocol.HeaderBy) != "user:ann" || d.Header("Missing") != "" {
				b.Error("the headers are not what was published")
			}
			if d.Stored().Before(before) || d.Stored().After(time.Now().Add(slack)) {
				b.Errorf("stored at %v, want now", d.Stored())
			}
			b.ack(d)
		}},
		{"commands come in stored order, at most as many as asked for", func(b *bench) {
			var want []uint64
			for i := range 6 {
				want = append(want, b.publish(b.key(fmt.Sprint(i%2)), "send"))
			}
			var got []uint64
			for len(got) < len(want) {
				ds, err := b.Commands.Fetch(b.ctx, 4)
				b.must(err)
				if len(ds) == 0 || len(ds) > 4 {
					b.Fatalf("fetch of at most 4 gave %d", len(ds))
				}
				for _, d := range ds {
					got = append(got, d.Sequence())
					b.ack(d)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) {
				b.Errorf("got sequences %v, want %v", got, want)
			}
		}},
		{"a command in hand is handed to nobody else", func(b *bench) {
			b.publish(b.key("a"), "send")
			d := b.one(b.Commands.Fetch)
			b.nothing(b.Other.Commands.Fetch, b.AckWait/4)
			b.ack(d)
		}},
		{"a fetch waits for a command", func(b *bench) {
			got := make(chan protocol.Delivery, 1)
			go func() {
				ds, err := b.Commands.Fetch(b.ctx, 10)
				if err != nil || len(ds) != 1 {
					b.Errorf("got %d commands and error %v, want one", len(ds), err)
					close(got)
					return
				}
				got <- ds[0]
			}()
			seq := b.publish(b.key("a"), "send")
			d, ok := <-got
			if !ok {
				return
			}
			if d.Sequence() != seq {
				b.Errorf("got sequence %d, want %d", d.Sequence(), seq)
			}
			b.ack(d)
		}},
		{"one that is not settled comes again, to anybody", func(b *bench) { b.comesAgain(b.publishAny, b.Commands.Fetch, b.Other.Commands.Fetch) }},
		{"in-progress keeps it", func(b *bench) { b.keeps(b.publishAny, b.Commands.Fetch, b.Other.Commands.Fetch) }},
		{"later gives it back after the delay", func(b *bench) { b.givesBack(b.publishAny, b.Commands.Fetch, b.Other.Commands.Fetch) }},
		{"a late ack removes it all the same", func(b *bench) {
			k := b.key("a")
			b.publish(k, "send")
			first := b.one(b.Commands.Fetch)
			second := b.one(b.Other.Commands.Fetch)
			b.ack(first)
			b.eventually("the command is gone", func() bool { return b.gone(k) })
			b.ack(second) // settles what is gone: no error
		}},
		{"the first stored command of a chat is known, whoever has it", func(b *bench) {
			k, other := b.key("a"), b.key("b")
			one := b.publish(k, "send")
			b.publish(other, "send")
			two := b.publish(k, "rename")
			held := b.take(b.Other.Commands.Fetch, 3)
			for _, tt := range []struct{ from, want uint64 }{{0, one}, {one, one}, {one + 1, two}, {two, two}} {
				m, err := b.Commands.First(b.ctx, k, tt.from)
				b.must(err)
				if m.Sequence != tt.want {
					b.Errorf("first from %d on is %d, want %d", tt.from, m.Sequence, tt.want)
				}
				if string(m.Body) != `{"v":1}` || m.Get(protocol.HeaderBy) != "user:ann" || m.Time.IsZero() {
					b.Errorf("got %+v, want what was published", m)
				}
			}
			_, err := b.Commands.First(b.ctx, k, two+1)
			b.want(err, protocol.ErrNotFound)
			_, err = b.Commands.First(b.ctx, b.key("c"), 0)
			b.want(err, protocol.ErrNotFound)
			for _, d := range held {
				b.ack(d)
			}
		}},
		{"the first stored command of a tenant is known, among those of others", func(b *bench) {
			k := b.key("a")
			other := events.Key{Tenant: k.Tenant + "-other", Chat: "b"}
			b.publish(k, "send")
			want := b.publish(other, "send")
			b.publish(k, "rename")
			whole := events.Key{Tenant: other.Tenant, Chat: protocol.Any}
			m, err := b.Commands.First(b.ctx, whole, 0)
			b.must(err)
			if m.Sequence != want || m.Subject != protocol.CommandSubject(other, "send") {
				b.Errorf("got %d on %s, want %d", m.Sequence, m.Subject, want)
			}
			_, err = b.Commands.First(b.ctx, whole, want+1)
			b.want(err, protocol.ErrNotFound)
			for _, d := range b.take(b.Commands.Fetch, 3) {
				b.ack(d)
			}
		}},
		{"an acknowledged command is stored no more", func(b *bench) {
			k := b.key("a")
			b.publish(k, "send")
			b.ack(b.one(b.Commands.Fetch))
			b.eventually("the command is gone", func() bool { return b.gone(k) })
		}},
		{"the oldest of all chats is known", func(b *bench) {
			_, err := b.Commands.Oldest(b.ctx, 0)
			for err == nil { // acks of the rules before are on their way
				_, err = b.Commands.Oldest(b.ctx, 0)
			}
			b.want(err, protocol.ErrNotFound)
			one, two := b.publish(b.key("a"), "send"), b.publish(b.key("b"), "send")
			for _, tt := range []struct{ from, want uint64 }{{0, one}, {one + 1, two}} {
				m, err := b.Commands.Oldest(b.ctx, tt.from)
				b.must(err)
				if m.Sequence != tt.want {
					b.Errorf("oldest from %d on is %d, want %d", tt.from, m.Sequence, tt.want)
				}
			}
			_, err = b.Commands.Oldest(b.ctx, two+1)
			b.want(err, protocol.ErrNotFound)
			for _, d := range b.take(b.Commands.Fetch, 2) {
				b.ack(d)
			}
		}},
		{"a deleted command is gone, also from whoever has it, and may be deleted twice", func(b *bench) {
			k := b.key("a")
			seq := b.publish(k, "send")
			d := b.one(b.Commands.Fetch)
			b.must(b.Other.Commands.Delete(b.ctx, seq))
			if !b.gone(k) {
				b.Error("it is still there")
			}
			b.must(b.Commands.Delete(b.ctx, seq))
			b.ack(d)
			next := b.publish(k, "send")
			if d := b.one(b.Commands.Fetch); d.Sequence() != next {
				b.Errorf("fetched %d, want only %d", d.Sequence(), next)
			} else {
				b.ack(d)
			}
		}},
		{"the outcome reaches whoever listens, and nobody else is no error", func(b *bench) {
			wait, err := b.Listen(tenant, "01ARZ3NDEKTSV4RRFFQ69G5FAV")
			b.must(err)
			b.must(b.Commands.Reply(b.ctx, tenant, protocol.Reply{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAX", OK: true}))
			want := protocol.Reply{ID: "01ARZ3NDEKTSV4RRFFQ69G5FAV", OK: false, Code: events.CodeBusy, Message: "a turn runs"}
			b.must(b.Commands.Reply(b.ctx, tenant, want))
			got, err := wait(b.ctx)
			b.must(err)
			if got != want {
				b.Errorf("got %+v, want %+v", got, want)
			}
		}},
	})
}

// publish stores a command without an id.
func (b *bench) publish(k events.Key, verb string) uint64 {
	b.Helper()
	seq, err := b.Publish(k, verb, map[string]string{protocol.HeaderBy: "user:ann"}, []byte(`{"v":1}`))
	b.must(err)
	return seq
}

func (b *bench) publishAny() { b.publish(b.key("any"), "send") }

// gone reports whether the chat has no stored command.
func (b *bench) gone(k events.Key) bool {
	b.Helper()
	_, err := b.Commands.First(b.ctx, k, 0)
	if err != nil {
		b.want(err, protocol.ErrNotFound)
	}
	return err != nil
}
