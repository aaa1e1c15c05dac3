package roles

import (
	"testing"

	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// installed is an embedded server with a configuration, as `everturn server
// --auth` has it.
type installed struct {
	*testing.T
	server *embedded.Server
	conf   Configuration
}

func install(t *testing.T, cfg Config) *installed {
	t.Helper()
	conf, err := Generate(cfg)
	if err != nil {
		t.Fatal(err)
	}
	s, err := embedded.Start(t.Context(), embedded.Options{Store: t.TempDir(), Configure: conf.Configure})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return &installed{T: t, server: s, conf: conf}
}

func (i *installed) must(err error) {
	i.Helper()
	if err != nil {
		i.Fatal(err)
	}
}

// connect fails the test when the server refuses the user anything.
func (i *installed) connect(name string) *nats.Conn {
	i.Helper()
	u, ok := i.conf.User(name)
	if !ok {
		i.Fatalf("no user %s", name)
	}
	nc, err := nats.Connect(i.server.URL(), nats.UserInfo(u.Name, u.Password), nats.ErrorHandler(
		func(_ *nats.Conn, _ *nats.Subscription, err error) { i.Errorf("%s: %v", name, err) }))
	i.must(err)
	i.Cleanup(nc.Close)
	return nc
}

// apply makes the streams as that user.
func (i *installed) apply(name string) {
	i.Helper()
	topology, err := streams.LoadTopology("")
	i.must(err)
	js, err := jetstream.New(i.connect(name))
	i.must(err)
	_, err = topology.Apply(i.Context(), js, streams.ApplyOptions{})
	i.must(err)
}

func (i *installed) orchestrator() orchestrator.Bus {
	i.Helper()
	b, err := streams.Open(i.Context(), i.connect("orchestrator"), streams.Options{})
	i.must(err)
	i.Cleanup(b.Close)
	return orchestrator.Bus{
		Log: b.Log, Commands: b.Commands, Work: b.Work, Timers: b.Timers, Requests: b.Requests, Signals: b.Signals,
		Feed: b.Feed, Blobs: b.Blobs, Tools: b.Tools, Snapshots: b.Snapshots, Dead: b.Dead,
	}
}

func (i *installed) runner(group string) toolrunner.Bus {
	i.Helper()
	r, err := streams.OpenRunner(i.connect("runner-"+group), streams.Options{})
	i.must(err)
	i.Cleanup(r.Close)
	return r
}
