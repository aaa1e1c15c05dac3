package streams_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// What went with a lost connection is not waited for, however long a try may
// take: whoever asked asks again as soon as the connection is back.
func TestAQuestionEndsWithItsConnection(t *testing.T) {
	t.Parallel()
	s := bareServer(t, nil)
	nc := clientOf(t, s).Conn()
	runner, err := streams.OpenRunner(nc, streams.Options{Try: time.Hour})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	asked := make(chan struct{})
	subscribe(t, clientOf(t, s).Conn(), protocol.ResultSubject(someChat), func(*nats.Msg) { close(asked) })

	ended := make(chan error, 1)
	go func() {
		_, err := runner.Result(t.Context(), someChat, protocol.Result{V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}})
		ended <- err
	}()
	<-asked
	if err := nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Error("a question that nobody has answered has an answer")
	}
}

// What was delivered over a connection that is gone is not settled any more: by
// now its number may be another message's. It comes once more instead.
func TestADeliveryIsNotSettledAfterAReconnect(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	nc := clientOf(t, s.server).Conn()
	bus := openOver(t, nc)
	work := protocol.ModelWork{
		V: protocol.Version, Tenant: someChat.Tenant, Chat: someChat.Chat, Rev: 1, Pool: "default", Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1,
	}
	if _, err := bus.Work.Put(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	take := func() protocol.Delivery {
		list, err := bus.Work.FetchModel(t.Context(), work.Pool, 1)
		if err != nil {
			t.Fatal(err)
		}
		return list[0]
	}
	first := take()
	if err := nc.ForceReconnect(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the connection is back", func() bool { return nc.Stats().Reconnects == 1 && nc.IsConnected() })
	for _, settle := range []func() error{
		func() error { return first.Ack(t.Context()) },
		func() error { return first.Later(t.Context(), 0) },
	} {
		if err := settle(); err != nil {
			t.Fatal(err)
		}
	}
	if stored, err := bus.Work.Put(t.Context(), work); err != nil || stored {
		t.Errorf("the work was stored again (%v, %v), so it was settled", stored, err)
	}
	again := take()
	if again.Sequence() != first.Sequence() || again.Count() != 2 {
		t.Errorf("message %d came, delivery %d; want %d, delivery 2", again.Sequence(), again.Count(), first.Sequence())
	}
	if err := again.Ack(t.Context()); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the work is settled", func() bool {
		stored, err := bus.Work.Put(t.Context(), work)
		return err == nil && stored
	})
}
