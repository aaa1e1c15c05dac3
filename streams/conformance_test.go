package streams_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/bustest"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

const testAckWait = 600 * time.Millisecond

func TestOneServerKeepsThePromisesOfThePorts(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Rig {
		s := bareServer(t, nil)
		return rigOn(t, s, s, s)
	})
}

// The suites of a set share three servers, one after the other, each on streams
// made anew. Those that wait for the ack wait stand in sets of their own.
func TestAClusterKeepsThePromisesOfThePorts(t *testing.T) {
	t.Parallel()
	for name, set := range map[string][]clusterSuite{
		"Commands": {{"Commands", bustest.Commands}, {"Log", bustest.Log}, {"Heads", bustest.Heads}},
		"Work":     {{"Work", bustest.Work}, {"Signals", bustest.Signals}, {"Feed", bustest.Feed}},
		"Others": {
			{"Timers", bustest.Timers},
			{"Requests", bustest.Requests},
			{"Blobs", bustest.Blobs},
			{"Tools", bustest.Tools},
			{"Snapshots", bustest.Snapshots},
			{"Dead", bustest.Dead},
			{"Runner", bustest.Runner},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			runSet(t, set)
		})
	}
}

type clusterSuite struct {
	name string
	run  func(*testing.T, bustest.Rig)
}

func runSet(t *testing.T, set []clusterSuite) {
	t.Helper()
	servers := cluster(t)
	js := clientOf(t, servers[0])
	awaitLeader(t, js)
	for _, suite := range set {
		t.Run(suite.name, func(t *testing.T) {
			for name := range js.StreamNames(t.Context()).Name() {
				if err := js.DeleteStream(t.Context(), name); err != nil {
					t.Fatal(err)
				}
			}
			suite.run(t, rigOn(t, servers...))
		})
	}
}

// rigOn applies the topology and connects every part to another server.
func rigOn(t *testing.T, servers ...*embedded.Server) bustest.Rig {
	t.Helper()
	js := clientOf(t, servers[0])
	// An outcome is told once, to whoever the bus's own server knows is listening.
	listener := clientOf(t, servers[1%len(servers)])
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{AckWait: testAckWait})
	for _, group := range []string{"local", "remote"} {
		if _, err := topology.EnsureToolConsumer(t.Context(), js, group, streams.ApplyOptions{AckWait: testAckWait}); err != nil {
			t.Fatal(err)
		}
	}
	return bustest.Rig{
		Bus:     ports(openBus(t, servers[1%len(servers)])),
		Other:   ports(openBus(t, servers[2%len(servers)])),
		Runner:  func(string) toolrunner.Bus { return openRunner(t, servers[0]) },
		AckWait: testAckWait,
		Publish: func(k events.Key, verb string, header map[string]string, body []byte) (uint64, error) {
			return publishCommand(t, js, k, verb, header, body)
		},
		Listen: func(tenant, command string) (func(context.Context) (protocol.Reply, error), error) {
			return listen(listener, tenant, command)
		},
	}
}

// publishCommand stores a command as a client does.
func publishCommand(t *testing.T, js jetstream.JetStream, k events.Key, verb string, header map[string]string, body []byte) (uint64, error) {
	t.Helper()
	m := nats.NewMsg(protocol.CommandSubject(k, verb))
	m.Data = body
	for key, value := range header {
		m.Header[key] = []string{value}
	}
	ack, err := js.PublishMsg(t.Context(), m)
	if err != nil {
		return 0, err
	}
	return ack.Sequence, nil
}

// listen subscribes to an outcome, also on the server's side, before it returns.
func listen(js jetstream.JetStream, tenant, command string) (func(context.Context) (protocol.Reply, error), error) {
	sub, err := js.Conn().SubscribeSync(protocol.ReplySubject(tenant, command))
	if err != nil {
		return nil, err
	}
	if err := js.Conn().Flush(); err != nil {
		return nil, err
	}
	return func(ctx context.Context) (protocol.Reply, error) {
		m, err := sub.NextMsgWithContext(ctx)
		if err != nil {
			return protocol.Reply{}, err
		}
		var r protocol.Reply
		err = json.Unmarshal(m.Data, &r)
		return r, err
	}, nil
}

func openBus(t *testing.T, s *embedded.Server) *streams.Bus {
	t.Helper()
	return openOver(t, clientOf(t, s).Conn())
}

func openOver(t *testing.T, nc *nats.Conn) *streams.Bus {
	t.Helper()
	bus, err := streams.Open(t.Context(), nc, streams.Options{AckWait: testAckWait})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(bus.Close)
	return bus
}

func openRunner(t *testing.T, s *embedded.Server) *streams.Runner {
	t.Helper()
	return runnerOver(t, clientOf(t, s).Conn())
}

func runnerOver(t *testing.T, nc *nats.Conn) *streams.Runner {
	t.Helper()
	runner, err := streams.OpenRunner(nc, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(runner.Close)
	return runner
}

func ports(b *streams.Bus) orchestrator.Bus {
	return orchestrator.Bus{
		Log: b.Log, Commands: b.Commands, Work: b.Work, Timers: b.Timers, Requests: b.Requests, Signals: b.Signals,
		Feed: b.Feed, Blobs: b.Blobs, Tools: b.Tools, Snapshots: b.Snapshots, Dead: b.Dead,
	}
}
