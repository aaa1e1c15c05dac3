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
