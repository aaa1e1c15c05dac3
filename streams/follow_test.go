package streams_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// heads follows the log until the test ends and gives what it tells, in order.
func heads(t *testing.T, log *streams.Log, buffer int) (told <-chan protocol.Head, ready <-chan struct{}) {
	t.Helper()
	c, r := make(chan protocol.Head, buffer), make(chan struct{})
	during(t, func(ctx context.Context) error {
		return log.Heads(ctx, func(h protocol.Head) { c <- h }, func() { close(r) })
	})
	return c, r
}

func TestTheHeadsOfManyChatsAreTold(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	const chats = 500
	want := map[events.Key]uint64{}
	for i := range chats {
		k := events.Key{Tenant: "default", Chat: fmt.Sprint("chat", i)}
		want[k] = slices.Max(grow(t, s.Log, k, 1+i%2))
	}
	told, ready := heads(t, s.Log, 2*chats)
	<-ready
	if len(told) != chats {
		t.Errorf("%d heads were told before ready, want one for each of %d chats", len(told), chats)
	}
	for range len(told) {
		if h := <-told; want[h.Key] != h.Sequence {
			t.Errorf("head of %s is %d, want %d", h.Key, h.Sequence, want[h.Key])
		}
	}
	late := events.Key{Tenant: "default", Chat: "late"}
	sequences := grow(t, s.Log, late, 20)
	for _, sequence := range sequences {
		if h := <-told; h.Key != late || h.Sequence != sequence {
			t.Errorf("told %s %d, want %d of the new chat", h.Key, h.Sequence, sequence)
		}
	}
}

func TestAFollowerWhoseConsumerIsGoneSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done := make(chan error, 1)
	ready := make(chan struct{})
	go func() { done <- s.Log.Heads(t.Context(), func(protocol.Head) {}, func() { close(ready) }) }()
	<-ready
	stream, err := s.js.Stream(t.Context(), streams.LogStream(2))
	if err != nil {
		t.Fatal(err)
	}
	list := stream.ListConsumers(t.Context())
	for info := range list.Info() {
		if err := stream.DeleteConsumer(t.Context(), info.Name); err != nil {
			t.Fatal(err)
		}
	}
	if err := <-done; err == nil || errors.Is(err, context.Canceled) {
		t.Errorf("ended with %v, want that messages may have been missed", err)
	}
}

func TestAFollowerLeavesNoConsumerBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if _, err := s.Feed.Deltas(t.Context(), someChat, events.StepID{Turn: 1, Step: 1}, 1); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the feed has no consumer", func() bool {
		stream, err := s.js.Stream(t.Context(), streams.FeedStream)
		if err != nil {
			t.Fatal(err)
		}
		return stream.CachedInfo().State.Consumers == 0
	})
}

func toolEntry(group, name string) protocol.ToolEntry {
	m := protocol.Manifest{Name: name, Group: group, Schema: []byte(`{"type":"object"}`)}
	_, d := m.Encode()
	return protocol.ToolEntry{Manifest: m, Digest: d, Runner: "runner", At: 1_790_000_000_000}
}

func TestAToolThatAPersonRemovedIsToldNoMore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	bucket, err := s.js.KeyValue(t.Context(), streams.ToolsBucket)
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan []string, 16)
	during(t, func(ctx context.Context) error {
		return s.Tools.Watch(ctx, func(all []protocol.ToolEntry) {
			var names []string
			for _, e := range all {
				names = append(names, e.Manifest.Group+"."+e.Manifest.Name)
			}
			told <- names
		})
	})
	expect := func(want ...string) {
		t.Helper()
		if got := <-told; !slices.Equal(got, want) {
			t.Errorf("told %v, want %v", got, want)
		}
	}
	expect()
	for _, e := range []protocol.ToolEntry{toolEntry("web", "read"), toolEntry("files", "write"), toolEntry("files", "read")} {
		if err := s.Tools.Offer(t.Context(), e); err != nil {
			t.Fatal(err)
		}
	}
	expect("web.read")
	expect("web.read", "files.write")
	expect("files.read", "web.read", "files.write")
	if err := bucket.Delete(t.Context(), "web.read"); err != nil {
		t.Fatal(err)
	}
	expect("files.read", "files.write")
	if _, err := bucket.Put(t.Context(), "files.junk", []byte("no JSON")); err != nil {
		t.Fatal(err)
	}
	expect("files.read", "files.write")
}

func TestAnOfferWithAnotherManifestsDigestIsRefused(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	e := toolEntry("files", "read")
	e.Digest = events.DigestOf([]byte("another"))
	if err := s.Tools.Offer(t.Context(), e); err == nil {
		t.Error("it was taken")
	}
}

func TestAnOfferMakesTheQueueOfItsGroup(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := s.Tools.Offer(t.Context(), toolEntry("files", "read")); err != nil {
		t.Fatal(err)
	}
	c, err := s.js.Consumer(t.Context(), streams.WorkStream, streams.ToolConsumer("files"))
	if err != nil {
		t.Fatal(err)
	}
	got := c.CachedInfo().Config
	if got.FilterSubject != protocol.ToolWorkFilter("files") || got.AckWait != testAckWait || got.MaxDeliver != -1 {
		t.Errorf("the queue is %+v", got)
	}
}

func TestADeletedSnapshotIsNotFound(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if err := s.Snapshots.Put(t.Context(), someChat, 3, []byte("state")); err != nil {
		t.Fatal(err)
	}
	bucket, err := s.js.KeyValue(t.Context(), streams.SnapshotsBucket)
	if err != nil {
		t.Fatal(err)
	}
	key := "3." + someChat.Tenant + "." + someChat.Chat
	if e, err := bucket.Get(t.Context(), key); err != nil || string(e.Value()) != "state" {
		t.Fatalf("the library reads %v and %v", e, err)
	}
	if err := bucket.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Snapshots.Get(t.Context(), someChat, 3); !errors.Is(err, protocol.ErrNotFound) {
		t.Errorf("got %q and %v, want not found", got, err)
	}
}

func TestDeadLettersAreCopiesWithTheReason(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	m := protocol.Stored{
		Subject: protocol.CommandSubject(someChat, "send"), Sequence: 9, Body: []byte("{"),
		Header: map[string][]string{
			protocol.HeaderBy: {"user:ann"},
			"Nats-Rollup":     {"sub"}, // a client may send anything
		},
	}
	for range 2 {
		if err := s.Dead.Put(t.Context(), someChat, m, "01ARZ3NDEKTSV4RRFFQ69G5FAV", "panicked:\r\nindex out of range"); err != nil {
			t.Fatal(err)
		}
	}
	if n := storedIn(t, s.js, streams.DeadStream); n != 2 {
		t.Errorf("%d messages are kept, want both", n)
	}
	stream, err := s.js.Stream(t.Context(), streams.DeadStream)
	if err != nil {
		t.Fatal(err)
	}
	var got *jetstream.RawStreamMsg
	if got, err = stream.GetLastMsgForSubject(t.Context(), protocol.DeadSubject(someChat)); err != nil {
		t.Fatal(err)
	}
	if string(got.Data) != "{" || got.Header.Get(protocol.HeaderBy) != "user:ann" ||
		got.Header.Get("Everturn-Dead-Why") != "panicked: index out of range" || got.Header.Get("Everturn-Dead-Sequence") != "9" {
		t.Errorf("kept %s with headers %v", got.Data, got.Header)
	}
}
