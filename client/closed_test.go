package client_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// Nobody decides the command, and its sender set no time. A connection that is
// closed does not come back, so there is nothing to wait for.
func TestAClosedConnectionEndsTheWaitForAnOutcome(t *testing.T) {
	t.Parallel()
	s, err := embedded.Start(t.Context(), embedded.Options{Store: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	i := &installation{T: t, server: s}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	js, err := jetstream.New(i.connect())
	if err != nil {
		t.Fatal(err)
	}
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Apply(t.Context(), js, streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	nc := i.connect()
	ended := make(chan error, 1)
	go func() {
		_, err := client.New(nc, "", "").Command(t.Context(), "c1", protocol.Create{V: protocol.Version})
		ended <- err
	}()
	for { // until it is stored, and the client was told so
		stream, err := js.Stream(t.Context(), streams.CommandsStream)
		if err != nil {
			t.Fatal(err)
		}
		if stream.CachedInfo().State.Msgs > 0 && nc.Stats().InMsgs > 0 {
			break
		}
	}
	nc.Close()
	err = <-ended
	undecided, ok := errors.AsType[*client.UndecidedError](err)
	if !ok || !errors.Is(err, nats.ErrConnectionClosed) || !strings.Contains(err.Error(), "stored as "+undecided.ID) {
		t.Errorf("it ended with %v", err)
	}
}
