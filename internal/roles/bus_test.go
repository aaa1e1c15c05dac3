package roles

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	// patience is how long a fact that must come is waited for.
	patience = time.Minute

	witnessName = "witness"
	loopback    = "127.0.0.1"

	// calls of each chat and group are stored when a test begins.
	calls = 100

	// barrier is the chat that the harness itself speaks of.
	barrier = "barrier"
)

// Two tenants and two groups, one of each the attacker's, the other the victim's.
const (
	acme   = "acme"
	globex = "globex"
	files  = "files"
	web    = "web"
)

var installation = Config{Tenants: []string{acme, globex}, Groups: []string{files, web}}

// bus is a server with the real streams, all accounts, and a witness who may do
// everything in the service's account.
type bus struct {
	*testing.T
	server  *server.Server
	conf    Configuration
	witness *nats.Conn
	js      jetstream.JetStream
	streams []string
}

// startBus runs a server for the installation, as change leaves its accounts.
func startBus(t *testing.T, change func([]account)) *bus {
	t.Helper()
	cfg := installation.withDefaults()
	accounts := cfg.accounts()
	change(accounts)
	conf, err := cfg.configuration(accounts)
	if err != nil {
		t.Fatal(err)
	}
	s := runServer(t, conf, func(o *server.Options) { o.LeafNode.Host, o.LeafNode.Port = loopback, server.RANDOM_PORT })
	b := newBus(t, conf, s)
	b.makeStreams()
	return b
}

// runServer starts a server that listens, with a user for the witness.
func runServer(t *testing.T, conf Configuration, edit func(*server.Options)) *server.Server {
	t.Helper()
	o := &server.Options{JetStream: true, StoreDir: t.TempDir(), Host: loopback, Port: server.RANDOM_PORT, NoSigs: true, NoLog: true}
	conf.Configure(o)
	edit(o)
	for _, a := range o.Accounts {
		if a.Name == protocol.ServiceAccount {
			o.Users = append(o.Users, &server.User{Username: witnessName, Password: witnessName, Account: a})
		}
	}
	s, err := server.NewServer(o)
	if err != nil {
		t.Fatal(err)
	}
	s.Start()
	t.Cleanup(s.WaitForShutdown)
	t.Cleanup(s.Shutdown)
	return s
}

// newBus connects the witness to a server.
func newBus(t *testing.T, conf Configuration, s *server.Server) *bus {
	t.Helper()
	if !s.ReadyForConnections(patience) {
		t.Fatal("server does not start")
	}
	b := &bus{T: t, server: s, conf: conf}
	b.witness = b.dial(witnessName, witnessName)
	var err error
	b.js, err = jetstream.New(b.witness)
	b.must(err)
	return b
}

// asShipped leaves the accounts as they are.
func asShipped([]account) {}

// importsOnly lets clients and runners publish and subscribe to everything in
// their accounts, so that nothing but the imports holds them.
func importsOnly(accounts []account) {
	for _, a := range accounts {
		for i := range a.users {
			if u := &a.users[i]; u.Role == RoleClient || u.Role == RoleRunner {
				u.publish, u.subscribe = []string{">"}, []string{">"}
			}
		}
	}
}

func (b *bus) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// makeStreams applies the topology, with consumers for one pool and both groups
// whose deliveries never time out during a test.
func (b *bus) makeStreams() {
	b.Helper()
	topology, err := streams.LoadTopology("")
	b.must(err)
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	for _, c := range topology.StreamConfigs(1) {
		_, err := b.js.CreateStream(ctx, c)
		b.must(err)
		b.streams = append(b.streams, c.Name)
	}
	consumer := func(stream, name, filter string) {
		_, err := b.js.CreateConsumer(ctx, stream, jetstream.ConsumerConfig{
			Durable: name, FilterSubject: filter, AckPolicy: jetstream.AckExplicitPolicy, AckWait: time.Hour, MaxDeliver: -1,
		})
		b.must(err)
	}
	consumer(streams.CommandsStream, streams.CommandsConsumer, "")
	consumer(streams.TimersStream, streams.DueConsumer, protocol.TimerDueSubject(everyChat, protocol.Any))
	consumer(streams.WorkStream, streams.ChatConsumer, protocol.ChatWorkSubject(everyChat, protocol.Any))
	consumer(streams.WorkStream, streams.ModelConsumer("default"), protocol.ModelWorkFilter("default"))
	consumer(streams.WorkStream, streams.ToolConsumer(files), protocol.ToolWorkFilter(files))
	consumer(streams.WorkStream, streams.ToolConsumer(web), protocol.ToolWorkFilter(web))
}

func (b *bus) dial(name, password string, options ...nats.Option) *nats.Conn {
	b.Helper()
	nc, err := nats.Connect(b.server.ClientURL(), append(options, nats.UserInfo(name, password), nats.Name(name))...)
	b.must(err)
	b.Cleanup(nc.Close)
	return nc
}

// member is a connection that notes what the server refused it.
type member struct {
	*nats.Conn
	user User

	mu      sync.Mutex
	refused []string
	news    chan struct{} // closed when there is one more
}

func (b *bus) connect(name string) *member {
	b.Helper()
	u, ok := b.conf.User(name)
	if !ok {
		b.Fatalf("no user %s", name)
	}
	m := &member{user: u, news: make(chan struct{})}
	m.Conn = b.dial(u.Name, u.Password, nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.refused = append(m.refused, err.Error())
		close(m.news)
		m.news = make(chan struct{})
	}))
	return m
}

// chat of a tenant that exists when a test begins.
func chat(tenant string) events.Key { return events.Key{Tenant: tenant, Chat: "c1"} }

// seed stores one message of each sort for both tenants and both groups.
func (b *bus) seed() {
	b.Helper()
	shards := installation.withDefaults().Shards
	for _, tenant := range installation.Tenants {
		k := chat(tenant)
		b.store(protocol.CommandSubject(k, "send"), nil)
		b.store(protocol.LogSubject(protocol.Shard(k, shards), k), nil)
		b.store(protocol.ModelWorkSubject("default", k, events.StepID{Turn: 1, Step: 1}, 1), nil)
		b.store(protocol.ChatWorkSubject(k, "report-1"), nil)
		for _, group := range installation.Groups {
			for ordinal := 1; ordinal <= calls; ordinal++ {
				b.store(protocol.ToolWorkSubject(group, k, events.CallID{Turn: 1, Step: 1, Ordinal: ordinal}), nil)
			}
		}
		b.store(protocol.TimerSetSubject(k, "end-1"), nats.Header{
			"Nats-Schedule":        {"@at " + time.Now().Add(time.Hour).UTC().Format(time.RFC3339Nano)},
			"Nats-Schedule-Target": {protocol.TimerDueSubject(k, "end-1")},
		})
		b.store(protocol.TimerDueSubject(k, "end-2"), nil)
		b.store(protocol.FeedDeltaSubject(k), nil)
		b.store(protocol.DeadSubject(k), nil)
		b.store("$KV.SNAPSHOTS.1."+k.String(), nil)
		b.store("$KV.AGENTS."+tenant, nil)
		b.store("$KV.SKILLS."+tenant, nil)
		b.store("$KV.TOKENS."+tenant, nil)
		b.store("$O.BLOBS.C."+tenant, nil)
	}
	for _, group := range installation.Groups {
		b.store("$KV.TOOLS."+group+".tool", nil)
	}
}

// store publishes as the witness and waits until it is stored.
func (b *bus) store(subject string, header nats.Header) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), patience)
	defer cancel()
	_, err := b.js.PublishMsg(ctx, &nats.Msg{Subject: subject, Header: header, Data: []byte(`{"v":1}`)})
	if err != nil {
		b.Fatalf("store %s: %v", subject, err)
	}
}

// serve answers what orchestrators and projections answer, the way they do: only
// if the reply subject is an inbox. It gives what makes sure that everything
// asked so far was answered.
func (b *bus) serve() (settle func()) {
	b.Helper()
	orchestrator, projection := b.connect("orchestrator"), b.connect("projection")
	answer := func(m *member, subjects ...string) {
		asked := make(chan *nats.Msg, 1024)
		for _, subject := range subjects {
			_, err := m.ChanQueueSubscribe(subject, "everturn", asked)
			b.must(err)
		}
		b.must(m.Flush())
		go func() {
			for msg := range asked {
				if strings.HasPrefix(msg.Reply, "_INBOX.") || strings.HasPrefix(msg.Reply, "_R_.") {
					_ = msg.Respond([]byte("answer to " + msg.Subject)) // nobody may be waiting
				}
			}
		}()
		b.Cleanup(func() { m.Close(); close(asked) })
	}
	answer(orchestrator, protocol.ClaimSubject(everyChat), protocol.ResultSubject(everyChat), protocol.AskSubject(everyChat), protocol.UploadSubject(everyChat),
		protocol.DownloadSubject(everyChat), protocol.OfferSubject(protocol.Any))
	answer(projection, protocol.QuerySubject(protocol.Any, protocol.Any))
	return func() {
		b.Helper()
		for _, subject := range []string{
			protocol.ClaimSubject(events.Key{Tenant: acme, Chat: barrier}),
			protocol.QuerySubject(acme, barrier),
		} {
			_, err := b.witness.Request(subject, nil, patience)
			b.must(err)
		}
	}
}

// settle waits until the server has done all that it was told before: each
// stream and each consumer works through one queue, so what follows in the queue
// and stores nothing shows that the rest is done.
func (b *bus) settle() {
	b.Helper()
	k := events.Key{Tenant: acme, Chat: barrier}
	subjects := []string{
		protocol.CommandSubject(k, "send"), protocol.ChatWorkSubject(k, "x"), protocol.TimerSetSubject(k, "x"),
		protocol.FeedDeltaSubject(k), protocol.DeadSubject(k), "$KV.SNAPSHOTS." + barrier, "$KV.TOOLS." + barrier,
		"$KV.AGENTS." + barrier, "$KV.SKILLS." + barrier, "$KV.TOKENS." + barrier, "$O.BLOBS.C." + barrier,
	}
	for shard := range installation.withDefaults().Shards {
		subjects = append(subjects, protocol.LogSubject(shard, k))
	}
	for _, subject := range subjects {
		b.ask(&nats.Msg{Subject: subject, Header: nats.Header{"Nats-Expected-Stream": {"none"}}})
	}
	for _, consumer := range []string{"COMMANDS.orchestrator", "TIMERS.due", "WORK.chat", "WORK.model-default", "WORK.tool-files", "WORK.tool-web"} {
		b.ask(&nats.Msg{Subject: api + "CONSUMER.MSG.NEXT." + consumer, Data: []byte("{")})
		b.ask(&nats.Msg{Subject: acks + consumer + ".1.999999.999999.0.0", Data: []byte("+WPI")})
	}
}

func (b *bus) ask(m *nats.Msg) {
	b.Helper()
	if _, err := b.witness.RequestMsg(m, patience); err != nil {
		b.Fatalf("%s: %v", m.Subject, err)
	}
}

// ear hears what reaches a connection.
type ear struct {
	*member
	heard chan *nats.Msg
}

func (b *bus) listen(name string, subjects ...string) *ear {
	b.Helper()
	e := &ear{member: b.connect(name), heard: make(chan *nats.Msg, 65536)}
	for _, subject := range subjects {
		_, err := e.ChanSubscribe(subject, e.heard)
		b.must(err)
	}
	b.must(e.Flush())
	return e
}

// all is everything heard since the last call.
func (e *ear) all(t *testing.T) []*nats.Msg {
	t.Helper()
	if err := e.Flush(); err != nil {
		t.Fatal(err)
	}
	var list []*nats.Msg
	for {
		select {
		case m := <-e.heard:
			list = append(list, m)
		default:
			return list
		}
	}
}

func describe(m *nats.Msg) string {
	return fmt.Sprintf("%s (reply %q) %v %.80q", m.Subject, m.Reply, m.Header, m.Data)
}
