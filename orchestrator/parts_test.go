package orchestrator

import (
	"errors"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func key(chat string) events.Key { return events.Key{Tenant: "default", Chat: chat} }

func TestMailboxes(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		m := newMailboxes()
		var order []int
		var atOnce, most int
		for i := range 100 {
			m.post(key("a"), task{
				run: func() error {
					atOnce++
					most = max(most, atOnce)
					<-time.After(time.Second)
					atOnce--
					order = append(order, i)
					return nil
				},
				done: func(error) {},
			})
		}
		began := time.Now()
		if err := m.do(t.Context(), key("b"), func() error { return errMoved }); !errors.Is(err, errMoved) {
			t.Errorf("outcome %v", err)
		}
		if took := time.Since(began); took > 0 {
			t.Errorf("another chat waited %v", took)
		}
		m.wait()
		if most != 1 || !slices.IsSorted(order) || len(order) != 100 {
			t.Errorf("%d ran at once, in the order %v", most, order)
		}
		if len(m.queues) != 0 {
			t.Errorf("%d mailboxes are left", len(m.queues))
		}
	})
}

func TestAPanicEndsATaskAndNotItsMailbox(t *testing.T) {
	t.Parallel()

	m := newMailboxes()
	err := m.do(t.Context(), key("a"), func() error { panic("a bug") })
	if _, ok := errors.AsType[*panicError](err); !ok {
		t.Errorf("outcome %v, want a panic", err)
	}
	if err := m.do(t.Context(), key("a"), func() error { return nil }); err != nil {
		t.Error(err)
	}
	m.wait()
}

func TestTheCacheIsBoundedByBytes(t *testing.T) {
	t.Parallel()

	c := newCache(100)
	for i, name := range []string{"a", "b", "c"} {
		c.put(key(name), entry{sequence: uint64(i + 1), bytes: 40})
		c.get(key("a")) // is used all the time
	}
	for name, want := range map[string]bool{"a": true, "b": false, "c": true} {
		if _, ok := c.get(key(name)); ok != want {
			t.Errorf("chat %s is kept: %t, want %t", name, ok, want)
		}
	}
	c.put(key("c"), entry{sequence: 9, bytes: 50})
	c.put(key("c"), entry{sequence: 5, bytes: 10}) // an old state does not replace a newer one
	if e, _ := c.get(key("c")); e.sequence != 9 || c.bytes != 90 {
		t.Errorf("kept is sequence %d, %d bytes in all; want 9 and 90", e.sequence, c.bytes)
	}
	c.stop(key("c"), "damaged")
	c.put(key("c"), entry{sequence: 10, bytes: 50})
	if _, ok := c.get(key("c")); ok || c.bytes != 40 {
		t.Error("a stopped chat is kept")
	}
}

func TestWhenAChatIsSweptAgain(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		h := newHeads()
		h.see(protocol.Head{Key: key("owes"), Sequence: 1, Owes: protocol.OwesModel})
		h.see(protocol.Head{Key: key("rests"), Sequence: 2})
		began := time.Now()
		var swept []time.Duration
		sweep := func(until time.Duration) {
			for time.Since(began) < until {
				<-time.After(time.Second)
				for _, k := range h.still(time.Now()) {
					if k == key("rests") {
						t.Error("a chat that owes nothing was swept")
					}
					swept = append(swept, time.Since(began))
				}
			}
		}
		sweep(200 * time.Second)
		h.see(protocol.Head{Key: key("owes"), Sequence: 3, Owes: protocol.OwesTool})
		sweep(220 * time.Second)
		h.see(protocol.Head{Key: key("owes"), Sequence: 4})
		sweep(400 * time.Second)
		want := []time.Duration{15 * time.Second, 45 * time.Second, 105 * time.Second, 165 * time.Second, 215 * time.Second}
		if !slices.Equal(swept, want) {
			t.Errorf("swept after %v, want %v", swept, want)
		}
	})
}

func TestSnapshotsAreWhatTheyName(t *testing.T) {
	t.Parallel()

	body, err := events.Encode(events.Commit{
		ID: "1", Key: key("a"), Rev: 1, At: 1000, Cause: events.Cause{Kind: events.CausedByCommand, ID: "c", Sequence: 5},
		Events: []events.Event{events.ChatCreated{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, err := events.Decode(body)
	if err != nil {
		t.Fatal(err)
	}
	e := entry{state: chat.State{}.Apply(c, events.Hash(body)), sequence: 7}
	content, err := new(packer).pack(e)
	if err != nil {
		t.Fatal(err)
	}
	got, err := unpacked(content)
	if err != nil {
		t.Fatal(err)
	}
	if got.sequence != 7 || got.state.Hash() != e.state.Hash() || got.state.Prev() != e.state.Prev() || got.state.At() != e.state.At() {
		t.Errorf("came back as %+v, want %+v", got, e)
	}
	for bit := range 8 * len(content) {
		i := bit / 8
		broken := slices.Clone(content)
		broken[i] ^= 1 << (bit % 8)
		if damaged, err := unpacked(broken); err == nil && (damaged.state.Hash() != e.state.Hash() || damaged.sequence != e.sequence) {
			t.Errorf("with byte %d changed it is believed", i)
		}
	}
}

func TestANameBelongsToTheGroupThatWasFirst(t *testing.T) {
	t.Parallel()

	entryOf := func(group, name string, at events.Time) protocol.ToolEntry {
		return protocol.ToolEntry{Manifest: protocol.Manifest{Group: group, Name: name}, At: at}
	}
	r := newRegistry()
	r.set([]protocol.ToolEntry{entryOf("late", "b", 2), entryOf("early", "b", 1), entryOf("late", "a", 2)})
	<-r.first
	r.add(entryOf("late", "c", 3))
	var got []string
	for _, tool := range r.offered() {
		got = append(got, tool.Group+"."+tool.Name)
	}
	if want := []string{"late.a", "early.b", "late.c"}; !slices.Equal(got, want) {
		t.Errorf("tools are %v, want %v", got, want)
	}
}
