package client_test

import (
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/protocol"
)

// While a cluster elects a leader nobody takes commands, and the server says so
// at once. The command is stored by who comes.
func TestACommandWaitsForTheLeaderOfACluster(t *testing.T) {
	t.Parallel()
	s := embeddedtest.Start(t, embedded.Options{Configure: func(o *server.Options) {
		o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", server.RANDOM_PORT
		o.JetStream = false // the stream is played below
	}})
	i := &installation{T: t, server: s}
	asked := i.connect()
	k := client.New(asked, "", "").Key("c1")
	subject := protocol.CommandSubject(k, string(protocol.VerbCreate))
	stored := make(chan error, 1)
	go func() {
		stored <- client.New(asked, "", "").Submit(t.Context(), k.Chat, client.NewID(), protocol.Create{V: protocol.Version})
	}()
	for asked.Stats().InMsgs == 0 { // until it has been told that nobody is there
		select {
		case <-time.After(10 * time.Millisecond):
		case <-t.Context().Done():
			t.Fatal("nothing was said")
		}
	}
	leader := i.connect()
	if _, err := leader.Subscribe(subject, func(m *nats.Msg) { _ = m.Respond([]byte(`{"stream":"COMMANDS","seq":1}`)) }); err != nil {
		t.Fatal(err)
	}
	if err := <-stored; err != nil {
		t.Errorf("the command was not stored: %v", err)
	}
}
