package streams_test

import (
	"context"
	"fmt"
	"net/url"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/bustest"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

const hubDomain = "hub"

// Everybody is connected to a leaf node that has a JetStream of its own: a
// question without the domain would find a server without streams.
func TestADomainKeepsThePromisesOfThePorts(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Rig {
		leaf := leafOfHub(t)
		connect := func() *nats.Conn { return clientOf(t, leaf).Conn() }
		js, err := jetstream.NewWithDomain(connect(), hubDomain)
		if err != nil {
			t.Fatal(err)
		}
		awaitLeader(t, js)
		topology, options := mustTopology(t), streams.ApplyOptions{AckWait: testAckWait}
		mustApply(t, topology, js, options)
		for _, group := range []string{"local", "remote"} {
			if _, err := topology.EnsureToolConsumer(t.Context(), js, group, options); err != nil {
				t.Fatal(err)
			}
		}
		open := func() *streams.Bus {
			bus, err := streams.Open(t.Context(), connect(), streams.Options{Domain: hubDomain, AckWait: testAckWait})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(bus.Close)
			return bus
		}
		return bustest.Rig{
			Bus:     ports(open()),
			Other:   ports(open()),
			AckWait: testAckWait,
			Runner: func(string) toolrunner.Bus {
				runner, err := streams.OpenRunner(connect(), streams.Options{Domain: hubDomain})
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(runner.Close)
				return runner
			},
			Publish: func(k events.Key, verb string, header map[string]string, body []byte) (uint64, error) {
				return publishCommand(t, js, k, verb, header, body)
			},
			Listen: func(tenant, command string) (func(context.Context) (protocol.Reply, error), error) {
				return listen(js, tenant, command)
			},
		}
	})
}

func TestTheClockOfADomainIsThatOfItsServer(t *testing.T) {
	t.Parallel()
	nc := clientOf(t, leafOfHub(t)).Conn()
	js, err := jetstream.NewWithDomain(nc, hubDomain)
	if err != nil {
		t.Fatal(err)
	}
	awaitLeader(t, js)
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	if err := streams.CheckClock(t.Context(), nc, streams.Options{Domain: hubDomain}, time.Now); err != nil {
		t.Error(err)
	}
}

// leafOfHub is a server that reaches the domain over a leaf node connection.
func leafOfHub(t *testing.T) *embedded.Server {
	t.Helper()
	port := freeport.One(t)
	hub := bareServer(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "hub", hubDomain
		o.LeafNode.Host, o.LeafNode.Port = "127.0.0.1", port
	})
	user, password := hub.Credentials()
	at := &url.URL{Scheme: "nats-leaf", User: url.UserPassword(user, password), Host: fmt.Sprintf("127.0.0.1:%d", port)}
	return bareServer(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "leaf", "leaf"
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{at}}}
	})
}
