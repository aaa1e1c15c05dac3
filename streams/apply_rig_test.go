package streams_test

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/streams"
)

// bareServer is a server without any stream.
func bareServer(t *testing.T, configure func(*server.Options)) *embedded.Server {
	t.Helper()
	return embeddedtest.Start(t, embedded.Options{Configure: configure})
}

func clientOf(t *testing.T, s *embedded.Server, opts ...nats.Option) jetstream.JetStream {
	t.Helper()
	nc, err := s.Connect("test", opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	return js
}

func mustApply(t *testing.T, topology *streams.Topology, js jetstream.JetStream, o streams.ApplyOptions) streams.Plan {
	t.Helper()
	plan, err := topology.Apply(t.Context(), js, o)
	if err != nil {
		t.Fatal(err)
	}
	return plan
}

// editStream changes a stream behind the topology's back.
func editStream(t *testing.T, js jetstream.JetStream, name string, edit func(*jetstream.StreamConfig)) {
	t.Helper()
	config := streamConfig(t, js, name)
	edit(&config)
	if _, err := js.UpdateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
}

func streamConfig(t *testing.T, js jetstream.JetStream, name string) jetstream.StreamConfig {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().Config
}

func storedIn(t *testing.T, js jetstream.JetStream, name string) uint64 {
	t.Helper()
	s, err := js.Stream(t.Context(), name)
	if err != nil {
		t.Fatal(err)
	}
	return s.CachedInfo().State.Msgs
}

func publish(t *testing.T, js jetstream.JetStream, subject string) {
	t.Helper()
	if _, err := js.Publish(t.Context(), subject, []byte("{}")); err != nil {
		t.Fatal(err)
	}
}

// planned fails unless exactly the given lines would be done.
func planned(t *testing.T, plan streams.Plan, want ...string) {
	t.Helper()
	var got []string
	for _, c := range plan {
		got = append(got, c.String())
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("plan (-want +got):\n%s", diff)
	}
}

var someChat = events.Key{Tenant: "acme", Chat: "c1"}

func topologyStream(t *testing.T, topology *streams.Topology, name string) jetstream.StreamConfig {
	t.Helper()
	for _, c := range topology.StreamConfigs(1) {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no stream %s", name)
	return jetstream.StreamConfig{}
}

// awaitLeader returns when the cluster answers questions about streams.
func awaitLeader(t *testing.T, js jetstream.JetStream) {
	t.Helper()
	for {
		ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := js.AccountInfo(ctx)
		cancel()
		if err == nil {
			return
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// cluster is three servers that know each other.
func cluster(t *testing.T) []*embedded.Server {
	t.Helper()
	var (
		wg      sync.WaitGroup
		servers = make([]*embedded.Server, 3)
		ports   = freeport.Of(t, len(servers))
		routes  []string
	)
	for _, port := range ports {
		routes = append(routes, fmt.Sprintf("nats://127.0.0.1:%d", port))
	}
	for i := range servers {
		dir := t.TempDir()
		wg.Go(func() {
			s, err := embedded.Start(t.Context(), embedded.Options{Store: dir, Password: "secret", Configure: func(o *server.Options) {
				o.ServerName = fmt.Sprintf("node-%d", i)
				o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", "127.0.0.1", ports[i]
				o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
			}})
			if err != nil {
				t.Error(err)
				return
			}
			servers[i] = s
		})
	}
	wg.Wait()
	if t.Failed() {
		t.FailNow()
	}
	t.Cleanup(func() {
		for _, s := range servers {
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		}
	})
	return servers
}
