package streams_test

import (
	"context"
	"errors"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/bustest"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/roles"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

// Every part may do what it needs, in the account and with the permissions that
// the shipped configuration gives it.
func TestTheShippedAccountsKeepThePromisesOfThePorts(t *testing.T) {
	t.Parallel()
	bustest.Run(t, func(t *testing.T) bustest.Rig {
		conf, err := roles.Generate(roles.Config{Tenants: []string{"default", "default-other"}, Groups: []string{"local", "remote"}})
		if err != nil {
			t.Fatal(err)
		}
		s := bareServer(t, conf.Configure)
		as := func(role roles.Role, group string) *nats.Conn { return connectAs(t, s, conf, role, group) }
		operator, err := jetstream.New(as(roles.RoleOperator, ""))
		if err != nil {
			t.Fatal(err)
		}
		topology := mustTopology(t)
		mustApply(t, topology, operator, streams.ApplyOptions{AckWait: testAckWait})
		for _, group := range []string{"local", "remote"} {
			if _, err := topology.EnsureToolConsumer(t.Context(), operator, group, streams.ApplyOptions{AckWait: testAckWait}); err != nil {
				t.Fatal(err)
			}
		}
		clients := make(map[string]jetstream.JetStream)
		for _, tenant := range []string{"default", "default-other"} { // the second is the one of a rule about two
			if clients[tenant], err = jetstream.New(connectAs(t, s, conf, roles.RoleClient, tenant)); err != nil {
				t.Fatal(err)
			}
		}
		return bustest.Rig{
			Bus:     ports(openOver(t, as(roles.RoleOrchestrator, ""))),
			Other:   ports(openOver(t, as(roles.RoleOrchestrator, ""))),
			AckWait: testAckWait,
			Runner: func(group string) toolrunner.Bus {
				return runnerOver(t, as(roles.RoleRunner, group))
			},
			Publish: func(k events.Key, verb string, header map[string]string, body []byte) (uint64, error) {
				return publishCommand(t, clients[k.Tenant], k, verb, header, body)
			},
			Listen: func(tenant, command string) (func(context.Context) (protocol.Reply, error), error) {
				return listen(clients[tenant], tenant, command)
			},
		}
	})
}

// Operators keep agents, orchestrators follow them.
func TestTheShippedAccountsLetAgentsBeFollowed(t *testing.T) {
	t.Parallel()
	conf, err := roles.Generate(roles.Config{Tenants: []string{"default"}})
	if err != nil {
		t.Fatal(err)
	}
	s := bareServer(t, conf.Configure)
	person := connectAs(t, s, conf, roles.RoleOperator, "")
	operator, err := jetstream.New(person)
	if err != nil {
		t.Fatal(err)
	}
	mustApply(t, mustTopology(t), operator, streams.ApplyOptions{})
	kept, err := streams.OpenReader(t.Context(), person, streams.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer kept.Close()
	if err := kept.Agents.Put(t.Context(), "default", "reviewer", events.Settings{System: "You review."}); err != nil {
		t.Fatal(err)
	}
	bus := openOver(t, connectAs(t, s, conf, roles.RoleOrchestrator, ""))
	ctx, cancel := context.WithCancel(t.Context())
	err = bus.Agents.Watch(ctx, func(all everyAgent) {
		if all["default"]["reviewer"].System != "You review." {
			t.Errorf("told %v", all)
		}
		cancel()
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("the watch ended with %v", err)
	}
	if list, err := kept.Agents.List(t.Context(), "default"); err != nil || len(list) != 1 {
		t.Errorf("the operator sees %v, %v", list, err)
	}
}

// connectAs connects as the user of a role: of a group if it is a runner, of a tenant if
// it is a client.
func connectAs(t *testing.T, s *embedded.Server, conf roles.Configuration, role roles.Role, of string) *nats.Conn {
	t.Helper()
	for _, u := range conf.Users {
		if u.Role != role || u.Group+u.Tenant != of {
			continue
		}
		nc, err := nats.Connect(s.URL(), nats.UserInfo(u.Name, u.Password), nats.Name(u.Name),
			nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { t.Errorf("%s: %v", u.Name, err) }))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(nc.Close)
		return nc
	}
	t.Fatalf("no user has the role %s", role)
	return nil
}
