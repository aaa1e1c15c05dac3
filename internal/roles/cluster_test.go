package roles

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/freeport"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go/jetstream"
)

// TestTracesAcrossRoutes makes the servers of a cluster report, on subjects of
// another tenant and another group, where a command went. What a route must not
// import nobody can have written that way. The feed is not on that list, since
// its watchers subscribe by tenant: that the report arrives there shows that the
// attack itself works, and that the others were tried before.
func TestTracesAcrossRoutes(t *testing.T) {
	t.Parallel()

	nodes := startCluster(t)
	b := nodes[0]
	for _, node := range nodes { // what is on the list still travels between the servers
		k := events.Key{Tenant: acme, Chat: "from-" + node.server.Name()}
		for _, subject := range []string{
			protocol.LogSubject(protocol.Shard(k, DefaultShards), k), protocol.TimerDueSubject(k, "end-1"), protocol.ChatWorkSubject(k, "report-1"),
			protocol.DeadSubject(k), "$KV.TOOLS.files." + k.Chat, "$KV.SNAPSHOTS.1." + k.String(),
		} {
			node.store(subject, nil)
		}
	}
	before := b.picture(nil)

	targets := []string{"$KV.TOOLS.web.tool", "$KV.SNAPSHOTS.1.globex.c1"}
	for _, target := range foreignSubjects() {
		if hasAnyPrefix(target, "everturn.log.", "everturn.work.", "everturn.timer.", "everturn.cmd.globex.", "everturn.dead.") {
			targets = append(targets, target)
		}
	}
	witnessed := protocol.FeedDeltaSubject(chat(globex))
	arrives, err := b.witness.SubscribeSync(witnessed)
	b.must(err)
	b.must(b.witness.Flush())
	client := b.raw("client-acme")
	for _, target := range append(targets, witnessed) {
		client.publish(protocol.CommandSubject(chat(acme), "rename"), inbox, "NATS/1.0 503\r\nNats-Trace-Dest: "+target+"\r\n\r\n", "{}")
	}
	client.done()
	b.settle()
	elsewhere(nodes).pull(len(targets) + 1)
	if _, err := arrives.NextMsg(patience); err != nil {
		t.Fatalf("no report arrives: %v", err)
	}
	b.settle()
	allowed := rights{
		store:   []string{protocol.CommandSubject(chat(acme), "rename"), witnessed},
		consume: []string{streams.CommandsStream + "/" + streams.CommandsConsumer},
	}
	for _, difference := range differences(before, b.picture(before), allowed) {
		t.Error(difference)
	}
}

// startCluster runs three servers with the streams, one replica of each.
func startCluster(t *testing.T) []*bus {
	t.Helper()
	conf, err := Generate(installation)
	if err != nil {
		t.Fatal(err)
	}
	ports := freeport.Of(t, 3)
	var routes []string
	for _, port := range ports {
		routes = append(routes, "nats://"+net.JoinHostPort(loopback, strconv.Itoa(port)))
	}
	var servers []*server.Server
	for n, port := range ports {
		servers = append(servers, runServer(t, conf, func(o *server.Options) {
			o.ServerName = fmt.Sprint("node-", n)
			o.Cluster.Name, o.Cluster.Host, o.Cluster.Port = "test", loopback, port
			o.Routes = server.RoutesFromStr(strings.Join(routes, ","))
		}))
	}
	var nodes []*bus
	for _, s := range servers {
		nodes = append(nodes, newBus(t, conf, s))
	}
	nodes[0].awaitLeader()
	nodes[0].makeStreams()
	return nodes
}

// awaitLeader asks until the cluster has somebody who can make streams. Before
// that nobody answers.
func (b *bus) awaitLeader() {
	b.Helper()
	const try = 250 * time.Millisecond
	for deadline := time.Now().Add(patience); time.Now().Before(deadline); {
		ctx, cancel := context.WithTimeout(b.Context(), try)
		_, err := b.js.Stream(ctx, "none")
		cancel()
		if errors.Is(err, jetstream.ErrStreamNotFound) {
			return
		}
	}
	b.Fatal("the cluster has no leader")
}

// elsewhere is a node to which commands have to come across a route.
func elsewhere(nodes []*bus) *bus {
	b := nodes[0]
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	c, err := b.js.Consumer(ctx, streams.CommandsStream, streams.CommandsConsumer)
	b.must(err)
	for _, node := range nodes {
		if node.server.Name() != c.CachedInfo().Cluster.Leader {
			return node
		}
	}
	b.Fatal("every node leads")
	return nil
}

// pull asks for commands, and leaves alone what comes. A route drops those whose
// report it refuses; whoever is on the leader's server gets them, and the sweep.
func (b *bus) pull(count int) {
	b.Helper()
	answers, err := b.witness.SubscribeSync(b.witness.NewInbox())
	b.must(err)
	request := fmt.Appendf(nil, `{"batch":%d}`, count)
	b.must(b.witness.PublishRequest(api+"CONSUMER.MSG.NEXT."+streams.CommandsStream+"."+streams.CommandsConsumer, answers.Subject, request))
}

func hasAnyPrefix(s string, prefixes ...string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(s, prefix) {
			return true
		}
	}
	return false
}
