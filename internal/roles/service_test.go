package roles

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/nats-io/nats.go"
)

// TestServiceUsersDoTheirOwnWorkOnly publishes, as each user of the service's
// account, what is somebody else's to publish. The server refuses every one.
func TestServiceUsersDoTheirOwnWorkOnly(t *testing.T) {
	t.Parallel()

	b := startBus(t, asShipped)
	k := chat(acme)
	var (
		commit   = protocol.LogSubject(0, k)
		command  = protocol.CommandSubject(k, "send")
		internal = protocol.CommandSubject(k, "internal")
		call     = protocol.ToolWorkSubject(files, k, events.CallID{Turn: 1, Step: 1, Ordinal: 1})
		timer    = protocol.TimerSetSubject(k, "end-1")
		due      = protocol.TimerDueSubject(k, "end-1")
		outcome  = protocol.ReplySubject(acme, "01J")
		repeated = protocol.FeedCommitSubject(k)
		progress = protocol.FeedProgressSubject(k)
		query    = protocol.QuerySubject(acme, "transcript")
		upload   = protocol.UploadSubject(k)
		dead     = protocol.DeadSubject(k)
		snapshot = "$KV.SNAPSHOTS.1.acme.c1"
		tool     = "$KV.TOOLS.files.tool"
		blob     = "$O.BLOBS.M.x"
		remove   = []string{
			api + "STREAM.DELETE.LOG_0", api + "STREAM.UPDATE.LOG_0", api + "STREAM.PURGE.LOG_0", api + "STREAM.MSG.DELETE.TIMERS",
			api + "STREAM.PURGE.WORK", api + "STREAM.DELETE.WORK", api + "CONSUMER.DELETE.COMMANDS.orchestrator", api + "STREAM.RESTORE.LOG_0",
			api + "STREAM.SNAPSHOT.LOG_0", api + "META.LEADER.STEPDOWN", api + "STREAM.CREATE.OTHER",
		}
	)
	for name, foreign := range map[string][]string{
		"orchestrator": append([]string{
			command, due, repeated, progress, protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), protocol.OfferSubject(files), query, upload,
			"$KV.AGENTS.x", "$KV.SKILLS.x", "$KV.TOKENS.x",
		}, remove...),
		"projection": append([]string{
			commit, command, call, timer, due, outcome, repeated, progress, protocol.ClaimSubject(k), query, dead, snapshot, tool, blob,
			api + "CONSUMER.MSG.NEXT.COMMANDS.orchestrator", acks + "COMMANDS.orchestrator.1.1.1.0.0", api + "STREAM.MSG.GET.COMMANDS",
			api + "STREAM.PURGE.OBJ_BLOBS", api + "CONSUMER.CREATE.COMMANDS", api + "CONSUMER.CREATE.LOG_0.named", api + "STREAM.MSG.DELETE.COMMANDS", api + "STREAM.MSG.DELETE.WORK",
			api + "STREAM.MSG.DELETE.LOG_0",
		}, remove...),
		"gateway": append([]string{
			commit, internal, call, timer, due, outcome, repeated, progress, protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), dead, snapshot,
			tool, blob, "$KV.SKILLS.x", "$KV.TOKENS.x", api + "CONSUMER.MSG.NEXT.COMMANDS.orchestrator", api + "STREAM.MSG.GET.LOG_0", api + "STREAM.MSG.GET.COMMANDS",
			api + "CONSUMER.CREATE.COMMANDS", api + "STREAM.MSG.DELETE.LOG_0", api + "STREAM.MSG.DELETE.WORK", "_R_.x.y",
		}, remove...),
		"webhook": append([]string{
			commit, command, call, timer, due, outcome, repeated, progress, protocol.ClaimSubject(k), query, upload, dead, snapshot, tool, blob,
			"$KV.AGENTS.x", "$KV.SKILLS.x", "$KV.TOKENS.x", api + "CONSUMER.MSG.NEXT.COMMANDS.orchestrator", api + "STREAM.MSG.DELETE.LOG_0",
			api + "CONSUMER.DELETE.LOG_0.webhook-crm", api + "CONSUMER.CREATE.COMMANDS.x", "_R_.x.y",
		}, remove...),
		"operator": {
			commit, call, timer, due, outcome, repeated, protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), snapshot, blob, dead,
			acks + "COMMANDS.orchestrator.1.1.1.0.0", "_R_.x.y",
		},
		"system": {commit, command, query, api + "INFO"},
	} {
		m := b.connect(name)
		for _, subject := range foreign {
			b.must(m.Publish(subject, nil))
		}
		b.must(m.Flush())
		for _, subject := range foreign {
			want := fmt.Sprintf("Permissions Violation for Publish to %q", subject)
			if !m.wasRefused(want) {
				t.Errorf("%s may publish to %s", name, subject)
			}
		}
	}
}

// wasRefused waits for the server's complaint, which the connection hands over
// on a goroutine of its own.
func (m *member) wasRefused(want string) bool {
	deadline := time.NewTimer(patience)
	defer deadline.Stop()
	for {
		m.mu.Lock()
		refused := strings.Join(m.refused, "\n")
		news := m.news
		m.mu.Unlock()
		if strings.Contains(refused, want) {
			return true
		}
		select {
		case <-news:
		case <-deadline.C:
			return false
		}
	}
}

// TestQueriesAndFeed shows what the suites of the ports do not: a client's
// queries are answered by projections, and what is stored and said is seen by
// the tenant's watchers.
func TestQueriesAndFeed(t *testing.T) {
	t.Parallel()

	i := install(t, installation)
	i.apply("orchestrator") // the first start of all
	i.apply("operator")     // and whoever comes later finds nothing to do
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()

	reader, err := streams.OpenReader(ctx, i.connect("projection"), streams.Options{})
	i.must(err)
	defer reader.Close()
	caughtUp := errors.New("caught up")
	err = reader.Log.Follow(ctx, make([]uint64, reader.Log.Shards()), func(int, protocol.Stored) error { return nil }, func() error { return caughtUp })
	if !errors.Is(err, caughtUp) {
		t.Errorf("a projection follows the logs: %v", err)
	}
	serving, stop := context.WithCancel(ctx)
	queries, err := streams.OpenQueries(i.connect("projection"), streams.Options{})
	i.must(err)
	served := make(chan error, 1)
	go func() {
		served <- queries.Serve(serving, "1.0.0", map[string]streams.Query{
			"head": func(ctx context.Context, tenant string, _ []byte) ([]byte, error) {
				last, err := reader.Log.Last(ctx, chat(tenant))
				return fmt.Appendf(nil, `{"seq":%d}`, last.Sequence), err
			},
		})
	}()
	defer func() {
		stop()
		if err := <-served; !errors.Is(err, context.Canceled) {
			t.Errorf("serving ended with %v", err)
		}
		queries.Close()
	}()

	nc := i.connect("client-acme")
	seen := make(chan *nats.Msg, 16)
	_, err = nc.ChanSubscribe("everturn.feed.acme.c1.*", seen)
	i.must(err)
	i.must(nc.Flush())

	bus := i.orchestrator()
	_, err = bus.Log.Append(ctx, protocol.Append{Key: chat(acme), Body: []byte(`{"v":1}`)})
	i.must(err)
	i.must(bus.Feed.Delta(ctx, chat(acme), protocol.Delta{Text: "x"}))
	for _, group := range []string{files, web} {
		i.must(i.runner(group).Progress(ctx, chat(acme), protocol.Progress{Text: group}))
	}
	want := map[string]int{
		protocol.FeedCommitSubject(chat(acme)): 1, protocol.FeedDeltaSubject(chat(acme)): 1, protocol.FeedProgressSubject(chat(acme)): 2,
	}
	for range 4 {
		select {
		case m := <-seen:
			want[m.Subject]--
		case <-ctx.Done():
			t.Fatalf("not all was seen, missing %v", want)
		}
	}
	for subject, missing := range want {
		if missing != 0 {
			t.Errorf("%d messages too few on %s", missing, subject)
		}
	}

	var head struct {
		Seq uint64 `json:"seq"`
	}
	c := client.New(nc, acme, "")
	for { // the service may still be subscribing
		if err = c.Query(ctx, "head", struct{}{}, &head); err == nil || ctx.Err() != nil {
			break
		}
	}
	if err != nil || head.Seq != 1 {
		t.Errorf("query gave %+v, error %v", head, err)
	}
}

// The logs are told of, and nothing of them is lost by it.
func TestWebhooksReadTheLog(t *testing.T) {
	t.Parallel()

	i := install(t, installation)
	i.apply("orchestrator")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	k := chat(acme)
	_, err := i.orchestrator().Log.Append(ctx, protocol.Append{Key: k, Body: []byte(`{"v":1}`)})
	i.must(err)
	nc := i.connect("webhook")
	out, err := streams.OpenOutbox(ctx, nc, streams.Options{}, streams.OutboxOptions{Name: "crm", Tenants: []string{acme}, FromStart: true})
	i.must(err)
	defer out.Close()
	d, err := out.Next(ctx, protocol.Shard(k, out.Shards()))
	i.must(err)
	i.must(d.Ack(ctx))
	i.must(nc.Flush())
	if string(d.Body()) != `{"v":1}` {
		t.Errorf("it reads %s", d.Body())
	}
	for waiting := true; waiting; {
		b, err := streams.OutboxBacklog(ctx, nc, streams.Options{}, "crm")
		i.must(err)
		waiting = b.Commits > 0
	}
}
