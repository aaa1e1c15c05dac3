package streams_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

func TestAServerWithoutStreamsIsNamed(t *testing.T) {
	t.Parallel()
	s := bareServer(t, nil)
	if _, err := streams.Open(t.Context(), clientOf(t, s).Conn(), streams.Options{}); !errors.Is(err, streams.ErrNoStreams) {
		t.Errorf("got %v, want that there are no streams", err)
	}
}

func TestAStreamThatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	for _, name := range []string{streams.CommandsStream, streams.TimersStream, "KV_" + streams.ToolsBucket, blobsStream} {
		s := newStage(t)
		if err := s.js.DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		_, err := streams.Open(t.Context(), s.js.Conn(), streams.Options{})
		if want := "check stream " + name + ": run `everturn streams apply`"; err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestTheNumberOfShardsIsThatOfTheServer(t *testing.T) {
	t.Parallel()
	s := newStage(t, "shards: 4", "shards: 7")
	if n := s.Log.Shards(); n != 7 {
		t.Errorf("%d shards, want 7", n)
	}
	reader, err := streams.OpenReader(t.Context(), s.js.Conn(), streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	if n := reader.Log.Shards(); n != 7 {
		t.Errorf("%d shards, want 7", n)
	}
}

func TestWithoutAConnectionNothingIsDone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nc := clientOf(t, s.server).Conn()
	bus := openOver(t, nc)
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	got, err := bus.Commands.Fetch(t.Context(), 1)
	if err != nil {
		t.Fatal(err)
	}
	nc.Close()
	_, appendErr := bus.Log.Append(t.Context(), protocol.Append{Key: someChat, Body: []byte("{}")})
	_, fetchErr := bus.Commands.Fetch(t.Context(), 1)
	for what, err := range map[string]error{
		"append": appendErr,
		"fetch":  fetchErr,
		"ack":    got[0].Ack(t.Context()),
		"later":  got[0].Later(t.Context(), time.Second),
		"delta":  bus.Feed.Delta(t.Context(), someChat, protocol.Delta{}),
		"reply":  bus.Commands.Reply(t.Context(), "default", protocol.Reply{}),
		"heads":  bus.Log.Heads(t.Context(), func(protocol.Head) {}, func() {}),
	} {
		if !errors.Is(err, nats.ErrConnectionClosed) {
			t.Errorf("%s: got %v, want that the connection is closed", what, err)
		}
	}
}

func TestCloseLeavesNothingRunning(t *testing.T) { // not parallel: it looks at all goroutines
	s := bareServer(t, nil)
	nc, err := s.Connect("leak")
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	before := goleak.IgnoreCurrent()
	for range 3 {
		bus, err := streams.Open(t.Context(), nc, streams.Options{})
		if err != nil {
			t.Fatal(err)
		}
		grow(t, bus.Log, someChat, 3)
		publish(t, js, protocol.CommandSubject(someChat, "send"))
		if _, err := bus.Commands.Fetch(t.Context(), 10); err != nil {
			t.Fatal(err)
		}
		if _, err := bus.Feed.Deltas(t.Context(), someChat, events.StepID{Turn: 1, Step: 1}, 1); err != nil {
			t.Fatal(err)
		}
		bus.Close()
	}
	if n := nc.NumSubscriptions(); n > 1 { // the library's own for its requests
		t.Errorf("%d subscriptions are left", n)
	}
	if err := goleak.Find(before, goleak.IgnoreAnyFunction("github.com/nats-io/nats-server/v2/server.(*consumer).loopAndGatherMsgs")); err != nil {
		t.Error(err)
	}
}

// A timer is due at its millisecond, not at the whole second before it.
func TestATimerKeepsItsMilliseconds(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for i := range 3 {
		due := events.At(time.Now().Add(time.Duration(1001+i*333) * time.Millisecond))
		timer := protocol.Timer{V: protocol.Version, Tenant: someChat.Tenant, Chat: someChat.Chat, Name: "end-1", Due: due}
		if err := s.Timers.Set(t.Context(), timer); err != nil {
			t.Fatal(err)
		}
		got, err := s.Timers.FetchDue(t.Context(), 1)
		now := time.Now()
		if err != nil {
			t.Fatal(err)
		}
		if now.Before(due.Time()) || got[0].Stored().Before(due.Time()) {
			t.Errorf("due at %v, it came at %v", due, now)
		}
		if err := got[0].Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
}

func TestATimerWithoutATimeIsDue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	timer := protocol.Timer{V: protocol.Version, Tenant: someChat.Tenant, Chat: someChat.Chat, Name: "end-1"}
	if err := s.Timers.Set(t.Context(), timer); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Timers.FetchDue(t.Context(), 1); err != nil || len(got) != 1 {
		t.Errorf("got %d timers and %v, want it at once", len(got), err)
	}
}
