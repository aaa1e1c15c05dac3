package streams_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// inHand is how many commands are delivered and not settled.
func inHand(t *testing.T, js jetstream.JetStream) (pending, waiting int) {
	t.Helper()
	c, err := js.Consumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer)
	if err != nil {
		t.Fatal(err)
	}
	return c.CachedInfo().NumAckPending, c.CachedInfo().NumWaiting
}

// pullWaits returns when somebody waits for commands.
func pullWaits(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	eventually(t, "a pull waits", func() bool {
		_, waiting := inHand(t, js)
		return waiting > 0
	})
}

type fetched struct {
	deliveries []protocol.Delivery
	err        error
}

// fetchSoon fetches on a goroutine, and returns when the server knows about it.
// The function it gives ends the fetch.
func fetchSoon(t *testing.T, s stage, limit int) (<-chan fetched, context.CancelFunc) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	t.Cleanup(cancel)
	done := make(chan fetched, 1)
	go func() {
		d, err := s.Commands.Fetch(ctx, limit)
		done <- fetched{d, err}
	}()
	pullWaits(t, s.js)
	return done, cancel
}

func TestAFetchLeavesNothingBehind(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done, cancel := fetchSoon(t, s, 10)
	cancel()
	if got := <-done; !errors.Is(got.err, context.Canceled) || len(got.deliveries) != 0 {
		t.Fatalf("got %d commands and %v, want the context's error", len(got.deliveries), got.err)
	}
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	other := openBus(t, s.server)
	got, err := other.Commands.Fetch(t.Context(), 1)
	if err != nil || len(got) != 1 || got[0].Count() != 1 {
		t.Fatalf("another process got %d commands and %v, want the one at once", len(got), err)
	}
}

func TestAFetchOfManyTakesWhatIsThereAndWaitsForNoMore(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done, _ := fetchSoon(t, s, 100)
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	if got := <-done; got.err != nil || len(got.deliveries) != 1 {
		t.Fatalf("got %d commands and %v, want one", len(got.deliveries), got.err)
	}
	for range 3 {
		publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	}
	if pending, waiting := inHand(t, s.js); pending != 1 || waiting != 0 {
		t.Errorf("%d commands in hand and %d pulls wait after the fetch, want 1 and 0", pending, waiting)
	}
	got, err := s.Commands.Fetch(t.Context(), 100)
	if err != nil || len(got) != 3 {
		t.Errorf("got %d commands and %v, want the three that wait", len(got), err)
	}
}

func TestWhenAllMayBeInHandAreTheNextWaits(t *testing.T) {
	t.Parallel()
	s := newStage(t, "max_ack_pending: 10000", "max_ack_pending: 2")
	for range 3 {
		publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	}
	first, err := s.Commands.Fetch(t.Context(), 10)
	if err != nil || len(first) != 2 {
		t.Fatalf("got %d commands and %v, want the two that may be in hand", len(first), err)
	}
	done := make(chan fetched, 2)
	for range cap(done) {
		go func() {
			d, err := s.Commands.Fetch(t.Context(), 10)
			done <- fetched{d, err}
		}()
	}
	pullWaits(t, s.js)
	for _, d := range first {
		if err := d.Ack(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	got := <-done
	if got.err != nil || len(got.deliveries) != 1 {
		t.Fatalf("got %d commands and %v, want the third", len(got.deliveries), got.err)
	}
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	if got := <-done; got.err != nil || len(got.deliveries) != 1 {
		t.Errorf("got %d commands and %v, want the fourth", len(got.deliveries), got.err)
	}
}

func TestACommandThatLooksLikeAStatusIsACommand(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	m := nats.NewMsg(protocol.CommandSubject(someChat, "send"))
	m.Header.Set("Status", "404") // a client may set any header, and no body
	if _, err := s.js.PublishMsg(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	if got, err := s.Commands.Fetch(t.Context(), 1); err != nil || len(got) != 1 {
		t.Fatalf("got %d commands and %v, want one", len(got), err)
	}
}

func TestAConsumerThatIsMadeAnewIsFetchedFrom(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	done, _ := fetchSoon(t, s, 1)
	if err := s.js.DeleteConsumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer); err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), s.js, streams.ApplyOptions{AckWait: testAckWait})
	publish(t, s.js, protocol.CommandSubject(someChat, "send"))
	if got := <-done; got.err != nil || len(got.deliveries) != 1 {
		t.Fatalf("got %d commands and %v, want one", len(got.deliveries), got.err)
	}
}

func TestARunnerWaitsForItsQueue(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	runner := openRunner(t, s.server)
	done := make(chan fetched, 1)
	go func() {
		d, err := runner.Fetch(t.Context(), "files", 1)
		done <- fetched{d, err}
	}()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	work := protocol.ToolWork{V: protocol.Version, Tenant: someChat.Tenant, Chat: someChat.Chat, Call: call, Group: "files"}
	if stored, err := s.Work.Put(t.Context(), work); err != nil || !stored { // whoever puts work makes its queue
		t.Fatalf("put says %v and %v", stored, err)
	}
	if got := <-done; got.err != nil || len(got.deliveries) != 1 {
		t.Fatalf("got %d calls and %v, want one", len(got.deliveries), got.err)
	}
}

// A server that comes back has forgotten who waits.
func TestAFetchOutlivesItsServer(t *testing.T) {
	t.Parallel()
	store, port := t.TempDir(), freeport.One(t)
	start := func() *embedded.Server {
		s, err := embedded.Start(t.Context(), embedded.Options{Store: store, Port: port, Password: "secret"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	first := start()
	nc, err := nats.Connect(first.URL(), nats.UserInfo(first.Credentials()),
		nats.MaxReconnects(-1), nats.ReconnectWait(10*time.Millisecond), nats.ReconnectJitter(0, 0))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{AckWait: testAckWait})
	bus, err := streams.Open(t.Context(), nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	s := stage{Bus: bus, js: js}
	done, _ := fetchSoon(t, s, 1)
	heads := make(chan error, 1)
	ready := make(chan struct{})
	go func() { heads <- bus.Log.Heads(t.Context(), func(protocol.Head) {}, func() { close(ready) }) }()
	<-ready

	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	second := start()
	t.Cleanup(func() {
		if err := second.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := <-heads; err == nil {
		t.Error("following the log ended without an error although commits may have been missed")
	}
	eventually(t, "a pull waits again", func() bool {
		c, err := js.Consumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer)
		return err == nil && c.CachedInfo().NumWaiting > 0
	})
	publish(t, js, protocol.CommandSubject(someChat, "send"))
	if got := <-done; got.err != nil || len(got.deliveries) != 1 {
		t.Fatalf("got %d commands and %v, want one", len(got.deliveries), got.err)
	}
}

func TestTheConsumerOfAPoolIsMadeAgainWhenItIsGone(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	fetched := make(chan error, 1)
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	fetch := func() {
		got, err := s.Work.FetchModel(ctx, "default", 1)
		if err == nil && len(got) == 1 {
			err = got[0].Ack(ctx)
		}
		fetched <- err
	}
	work := protocol.ModelWork{Tenant: someChat.Tenant, Chat: someChat.Chat, Pool: "default", Attempt: 1}
	for attempt := 1; attempt <= 2; attempt++ {
		work.Attempt = attempt
		go fetch()
		if attempt > 1 {
			if err := s.js.DeleteConsumer(ctx, streams.WorkStream, streams.ModelConsumer("default")); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := s.Work.Put(ctx, work); err != nil {
			t.Fatal(err)
		}
		if err := <-fetched; err != nil {
			t.Fatalf("attempt %d: %v", attempt, err)
		}
	}
}
