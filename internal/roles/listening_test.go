package roles

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/nats-io/nats.go"
)

// TestListening subscribes, with the credentials of a client and of a runner, to
// everything one may think of, alone and as a member of the queue groups of the
// service, while everybody else is busy. Only what is meant for the role arrives.
func TestListening(t *testing.T) {
	t.Parallel()

	for _, variant := range []struct {
		name   string
		change func([]account)
	}{
		{"as shipped", asShipped},
		{"with the imports alone", importsOnly},
	} {
		for _, role := range []struct {
			name  string
			hears []string
		}{
			{"client-acme", []string{protocol.FeedFilter(acme), protocol.ReplySubject(acme, "*")}},
			{"runner-files", []string{protocol.StopSubject(everyChat), protocol.RunnerFilter(files)}},
		} {
			t.Run(variant.name+", by "+role.name, func(t *testing.T) {
				t.Parallel()

				b := startBus(t, variant.change)
				b.seed()
				settled := b.serve()
				spy := b.listen(role.name)
				for _, subject := range wishes() {
					b.tap(spy, subject)
				}
				b.must(spy.Flush())
				b.traffic()
				settled()
				b.settle()
				heard := spy.all(t)
				b.only(role.name, heard, role.hears...)
				for _, filter := range role.hears {
					if !anyOn(heard, filter) {
						t.Errorf("%s heard nothing on %s", role.name, filter)
					}
				}
			})
		}
	}
}

// tap subscribes in every way there is; the server may refuse.
func (b *bus) tap(spy *ear, subject string) {
	b.Helper()
	_, err := spy.ChanSubscribe(subject, spy.heard)
	b.must(err)
	for _, queue := range []string{"everturn", "orchestrator", "q"} {
		_, err := spy.ChanQueueSubscribe(subject, queue, spy.heard)
		b.must(err)
	}
}

// wishes are filters that would hear something worth hearing.
func wishes() []string {
	return append(foreignSubjects(),
		">", "*", "*.>", "everturn.>", "everturn.*.>", "everturn.*.*.>",
		"everturn.cmd.>", "everturn.log.>", "everturn.work.>", "everturn.timer.>", "everturn.dead.>",
		"everturn.claim.>", "everturn.result.>", "everturn.upload.>", "everturn.download.>", "everturn.offer.>", "everturn.query.>",
		"everturn.feed.>", "everturn.feed.*.*.commit", "everturn.feed.*.*.delta", "everturn.feed.*.>", "everturn.feed.globex.>",
		"everturn.feed.acme.>", "everturn.feed.acme.c1.*", "everturn.reply.>", "everturn.reply.*.*", "everturn.reply.acme.*",
		"everturn.stop.>", "everturn.stop.*.*", "everturn.runner.>", "everturn.runner.*.*", "everturn.runner.files.*",
		"_INBOX.>", "_INBOX.*", "_R_.>", "_R_.*.>", "_GR_.>", "$JS.>", "$JS.API.>", "$JS.ACK.>", "$JS.EVENT.>", "$KV.>", "$O.>", "$SYS.>", "$SRV.>")
}

// traffic is a busy moment of both tenants and both groups, without the spies.
func (b *bus) traffic() {
	b.Helper()
	client, runner := b.connect("client-globex"), b.connect("runner-web")
	_, err := runner.Subscribe(protocol.RunnerSubject("web.p1"), func(m *nats.Msg) { _ = m.Respond([]byte("yes")) })
	b.must(err)
	b.must(runner.Flush())
	request := func(m *member, subject, body string) {
		if _, err := m.Request(subject, []byte(body), patience); err != nil {
			b.Errorf("%s: %v", subject, err)
		}
	}
	request(client, protocol.CommandSubject(chat(globex), "send"), `{"v":1}`)
	request(client, protocol.QuerySubject(globex, "transcript"), `{}`)
	request(runner, pullSubject(web), `{"batch":1}`)
	request(runner, protocol.ClaimSubject(chat(globex)), `{"v":1}`)
	request(runner, protocol.AskSubject(chat(globex)), `{"v":1}`)
	request(runner, protocol.OfferSubject(web), `{"v":1}`)
	request(&member{Conn: b.witness}, protocol.RunnerSubject("web.p1"), `{"v":1}`)
	for _, tenant := range installation.Tenants {
		k := chat(tenant)
		for _, subject := range []string{
			protocol.FeedCommitSubject(k), protocol.StopSubject(k), protocol.ReplySubject(tenant, "01J"), protocol.RunnerSubject("files.p1"),
			protocol.RunnerSubject("web.p1"),
		} {
			b.must(b.witness.Publish(subject, []byte("{}")))
		}
		b.store(protocol.CommandSubject(k, "rename"), nil)
		b.store(protocol.LogSubject(protocol.Shard(k, DefaultShards), k), nil)
		b.store(protocol.ModelWorkSubject("default", k, events.StepID{Turn: 2, Step: 1}, 1), nil)
		b.store(protocol.ToolWorkSubject(files, k, events.CallID{Turn: 2, Step: 1, Ordinal: 1}), nil)
		b.store(protocol.FeedDeltaSubject(k), nil)
		b.store("$KV.SNAPSHOTS.1."+k.String(), nil)
	}
	b.must(b.witness.Flush())
}

func anyOn(heard []*nats.Msg, filter string) bool {
	for _, m := range heard {
		if matches(filter, m.Subject) && !strings.Contains(m.Subject, barrier) {
			return true
		}
	}
	return false
}
