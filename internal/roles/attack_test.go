package roles

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/nats-io/nats.go"
)

// TestAttacks tries, with the credentials of a client and of a runner, what must
// not work: once as the configuration is shipped, and once with every permission
// of clients and runners given away, so that it shows what the imports alone
// keep. After each attack everything that is stored on the server is compared
// with what was stored before, and the victims have heard nothing.
func TestAttacks(t *testing.T) {
	t.Parallel()

	for _, variant := range []struct {
		name   string
		change func([]account)
	}{
		{"as shipped", asShipped},
		{"with the imports alone", importsOnly},
	} {
		for _, role := range []string{"client-acme", "runner-files"} {
			t.Run(variant.name+", by "+role, func(t *testing.T) {
				t.Parallel()

				s := setStage(t, role, variant.change)
				for _, a := range s.attacks() {
					s.Run(a.name, func(t *testing.T) { s.play(t, a) })
				}
				s.settle()
				s.silent(s.all(t)) // what came late came too
			})
		}
	}
}

// attack is one row: messages, each of which is published by the attacker.
type attack struct {
	name     string
	messages []*nats.Msg

	// foreign means that the attacker has no business with these subjects: it
	// must not get a single answer.
	foreign bool
}

// stage is a bus with an attacker, the victims, and who answers.
type stage struct {
	*bus
	attacker *ear // hears its own inbox
	rights   rights
	speaks   []string // what the attacker may publish, as filters
	lines    []string // the same as subjects it will use
	audible  []string // what others may hear of it
	victims  map[string]*ear
	inside   *ear // hears the service's account
	answered func()
	before   picture
	pending  string // how the victims' runner would settle the call it has
}

// inbox is the attacker's.
const inbox = "_INBOX.attacker.1"

func setStage(t *testing.T, role string, change func([]account)) *stage {
	t.Helper()
	s := &stage{bus: startBus(t, change)}
	s.seed()
	s.answered = s.serve()
	s.attacker = s.listen(role, "_INBOX.attacker.>")
	s.speaks = filters(installation.withDefaults(), s.attacker.user)
	s.lines = lines(s.attacker.user)
	s.rights = rights{store: s.speaks}
	if group := s.attacker.user.Group; group != "" {
		s.rights.remove = []string{protocol.ToolWorkFilter(group)}
		s.rights.consume = []string{"WORK/tool-" + group}
		s.audible = []string{protocol.FeedProgressSubject(everyChat)}
	}
	s.victims = map[string]*ear{
		"the other tenant": s.listen("client-globex", protocol.FeedFilter(globex), protocol.ReplySubject(globex, "*"), inboxes),
		"the other group":  s.listen("runner-web", protocol.StopSubject(everyChat), protocol.RunnerFilter(web), inboxes),
	}
	s.pending = s.take()
	s.inside = s.ear()
	s.before = s.picture(nil)
	return s
}

// take lets the other group's runner pull one call, which it keeps.
func (s *stage) take() string {
	s.Helper()
	victim := s.victims["the other group"]
	s.must(victim.PublishRequest(pullSubject(web), "_INBOX.victim", []byte(`{"batch":1}`)))
	select {
	case m := <-victim.heard:
		return m.Reply
	case <-s.Context().Done():
	}
	s.Fatal("the other group got no call")
	return ""
}

// ear hears everything in the service's account that is no business of the
// witness itself.
func (s *stage) ear() *ear {
	s.Helper()
	e := &ear{member: &member{Conn: s.dial(witnessName, witnessName)}, heard: make(chan *nats.Msg, 65536)}
	for _, subject := range []string{protocol.Root + ".>", "$KV.>", "$O.>", "$JS.ACK.>", "$SRV.>", "_INBOX.victim.>", "_GR_.>", "evil.>"} {
		_, err := e.ChanSubscribe(subject, e.heard)
		s.must(err)
	}
	s.must(e.Flush())
	return e
}

func (s *stage) play(t *testing.T, a attack) {
	t.Helper()
	b := *s.bus
	b.T = t
	for _, m := range a.messages {
		b.must(s.attacker.PublishMsg(m))
	}
	b.must(s.attacker.Flush())
	b.settle()
	s.answered()
	b.must(s.attacker.Flush())

	after := b.picture(s.before)
	for _, difference := range differences(s.before, after, s.rights) {
		t.Error(difference)
	}
	s.before = after
	b.only("the service", s.inside.all(t), append([]string{"$JS.ACK.*.*.1.999999.>"}, s.speaks...)...)
	for name, victim := range s.victims {
		b.only(name, victim.all(t), s.audible...)
	}
	if heard := s.attacker.all(t); a.foreign {
		b.silent(heard)
	}
}

// silent reports every answer that says more than that nobody is there, that the
// account has no JetStream, or that the server is no cluster.
func (b *bus) silent(heard []*nats.Msg) {
	b.Helper()
	for _, m := range heard {
		body := string(m.Data)
		if m.Header.Get("Status") != "503" && !strings.Contains(body, `"err_code":10039`) && !strings.Contains(body, `"err_code":10010`) {
			b.Errorf("the attacker got %s", describe(m))
		}
	}
}

// all is what the attacker heard.
func (s *stage) all(t *testing.T) []*nats.Msg { return s.attacker.all(t) }

// filters is what the user may publish, by its imports.
func filters(cfg Config, u User) []string {
	if u.Role == RoleClient {
		return subjects(cfg.clientImports(u.Tenant), service)
	}
	return subjects(runnerImports(u.Group), service)
}

// lines are the subjects a user may publish to, each once.
func lines(u User) []string {
	if u.Role == RoleClient {
		list := []string{protocol.QuerySubject(u.Tenant, "transcript")}
		for _, verb := range protocol.Verbs() {
			list = append(list, protocol.CommandSubject(chat(u.Tenant), string(verb)))
		}
		return list
	}
	list := []string{pullSubject(u.Group), strings.TrimSuffix(ackFilter(u.Group), ">") + "1.999.999.0.0", protocol.OfferSubject(u.Group)}
	for _, tenant := range installation.Tenants {
		k := chat(tenant)
		list = append(list, protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), protocol.UploadSubject(k),
			protocol.DownloadSubject(k), protocol.FeedProgressSubject(k))
	}
	return list
}

// attacks is the matrix.
func (s *stage) attacks() []attack {
	var list []attack
	for _, h := range headers() {
		list = append(list, attack{name: "header " + h.name, messages: s.everywhere(h.header, inbox)})
	}
	for _, name := range slices.Sorted(maps.Keys(headersThatAim())) {
		header := headersThatAim()[name]
		a := attack{name: "header " + name + " aims at every family"}
		for _, target := range foreignSubjects() {
			a.messages = append(a.messages, s.everywhere(header(target), inbox)...)
		}
		list = append(list, a)
	}
	for _, family := range slices.Sorted(maps.Keys(s.replies())) {
		a := attack{name: "reply names " + family}
		for _, reply := range s.replies()[family] {
			a.messages = append(a.messages, s.everywhere(nil, reply)...)
		}
		list = append(list, a)
	}
	list = append(list, s.forged(), s.api())
	return append(list, s.settlements()...)
}

// forged are messages on every subject the attacker may not publish to.
func (s *stage) forged() attack {
	a := attack{name: "forged commands, commits, work, timers, claims, results, offers, outcomes, feeds, buckets", foreign: true}
	for _, subject := range foreignSubjects() {
		if !covered(s.speaks, subject) {
			a.messages = append(a.messages,
				&nats.Msg{Subject: subject, Data: []byte(`{"v":1}`)},
				&nats.Msg{Subject: subject, Reply: inbox, Data: []byte(`{"v":1}`)})
		}
	}
	return a
}

// api is every request to JetStream.
func (s *stage) api() attack {
	a := attack{name: "requests to JetStream", foreign: true}
	for _, r := range apiRequests() {
		a.messages = append(a.messages, &nats.Msg{Subject: r.Subject, Data: r.Data}, &nats.Msg{Subject: r.Subject, Data: r.Data, Reply: inbox})
	}
	return a
}

// everywhere is a message on each subject that the attacker may publish to.
func (s *stage) everywhere(header nats.Header, reply string) []*nats.Msg {
	var list []*nats.Msg
	for _, subject := range s.lines {
		data := []byte(`{"v":1}`)
		if strings.Contains(subject, ".MSG.NEXT.") {
			data = []byte(`{"batch":1,"no_wait":true}`)
		}
		list = append(list, &nats.Msg{Subject: subject, Header: header, Reply: reply, Data: data})
	}
	return list
}

type namedHeader struct {
	name   string
	header nats.Header
}

// headers are all by which a publisher tells the server something.
func headers() []namedHeader {
	return []namedHeader{
		{"Nats-Rollup: sub", nats.Header{"Nats-Rollup": {"sub"}}},
		{"Nats-Rollup: all", nats.Header{"Nats-Rollup": {"all"}}},
		{"Nats-TTL: 1s", nats.Header{"Nats-TTL": {"1s"}}},
		{"Nats-TTL: never", nats.Header{"Nats-TTL": {"never"}}},
		{"Nats-Msg-Id", nats.Header{"Nats-Msg-Id": {"same"}}},
		{"Nats-Expected-Stream", nats.Header{"Nats-Expected-Stream": {"LOG_0"}}},
		{"Nats-Expected-Last-Sequence", nats.Header{"Nats-Expected-Last-Sequence": {"0"}}},
		{"Nats-Expected-Last-Msg-Id", nats.Header{"Nats-Expected-Last-Msg-Id": {"x"}}},
		{"Nats-Expected-Last-Subject-Sequence", nats.Header{"Nats-Expected-Last-Subject-Sequence": {"0"}}},
		{"Nats-Batch, one message", nats.Header{"Nats-Batch-Id": {"b1"}, "Nats-Batch-Sequence": {"1"}, "Nats-Batch-Commit": {"1"}}},
		{"Nats-Batch, never ended", nats.Header{"Nats-Batch-Id": {"b2"}, "Nats-Batch-Sequence": {"1"}}},
		{"Nats-Incr", nats.Header{"Nats-Incr": {"+1"}}},
		{"Nats-Marker-Reason", nats.Header{"Nats-Marker-Reason": {"Purge"}}},
		{"KV-Operation", nats.Header{"KV-Operation": {"PURGE"}}},
		{"Nats-Required-Api-Level", nats.Header{"Nats-Required-Api-Level": {"0"}}},
		{"Nats-Stream-Source", nats.Header{"Nats-Stream-Source": {"LOG_0 1 > > everturn.log.0.globex.c1"}}},
		{"Nats-Request-Info", nats.Header{"Nats-Request-Info": {`{"acc":"EVERTURN","svc":"EVERTURN"}`}}},
	}
}

// headersThatAim are those that name a subject for the server to act on.
func headersThatAim() map[string]func(target string) nats.Header {
	const past = "@at 2020-01-01T00:00:00Z"
	return map[string]func(string) nats.Header{
		"Nats-Schedule-Target": func(target string) nats.Header {
			return nats.Header{"Nats-Schedule": {past}, "Nats-Schedule-Target": {target}, "Nats-Schedule-TTL": {"1s"}}
		},
		"Nats-Schedule-Source": func(target string) nats.Header {
			return nats.Header{"Nats-Schedule": {past}, "Nats-Schedule-Target": {"everturn.cmd.acme.c1.send"}, "Nats-Schedule-Source": {target}}
		},
		"Nats-Trace-Dest": func(target string) nats.Header { return nats.Header{"Nats-Trace-Dest": {target}} },
		"Nats-Trace-Only": func(target string) nats.Header {
			return nats.Header{"Nats-Trace-Dest": {target}, "Nats-Trace-Only": {"true"}}
		},
		"Nats-Expected-Last-Subject-Sequence-Subject": func(target string) nats.Header {
			return nats.Header{"Nats-Expected-Last-Subject-Sequence": {"0"}, "Nats-Expected-Last-Subject-Sequence-Subject": {target}}
		},
	}
}

// foreignSubjects is one subject of every family, of both tenants and groups.
func foreignSubjects() []string {
	var list []string
	for _, tenant := range installation.Tenants {
		k := chat(tenant)
		list = append(list,
			protocol.CommandSubject(k, "send"), protocol.CommandSubject(k, "internal"),
			protocol.LogSubject(protocol.Shard(k, 4), k),
			protocol.ModelWorkSubject("default", k, events.StepID{Turn: 1, Step: 1}, 2),
			protocol.ToolWorkSubject(web, k, events.CallID{Turn: 9, Step: 1, Ordinal: 1}),
			protocol.ToolWorkSubject(files, k, events.CallID{Turn: 9, Step: 1, Ordinal: 1}),
			protocol.ChatWorkSubject(k, "report-1"),
			protocol.TimerSetSubject(k, "end-1"), protocol.TimerDueSubject(k, "end-1"),
			protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), protocol.UploadSubject(k), protocol.DownloadSubject(k),
			protocol.ReplySubject(tenant, "01J"), protocol.QuerySubject(tenant, "transcript"),
			protocol.FeedCommitSubject(k), protocol.FeedDeltaSubject(k), protocol.FeedProgressSubject(k),
			protocol.StopSubject(k), protocol.DeadSubject(k),
			"$KV.SNAPSHOTS.1."+k.String(), "$KV.AGENTS."+tenant, "$KV.SKILLS."+tenant, "$KV.TOKENS."+tenant, "$O.BLOBS.C."+tenant,
		)
	}
	for _, group := range installation.Groups {
		list = append(list, protocol.OfferSubject(group), protocol.RunnerSubject(group+".p1"), "$KV.TOOLS."+group+".tool")
	}
	return append(list, "_INBOX.victim", "_INBOX.victim.1", "_R_.victim.1", "$SRV.PING", "everturn.new", "evil.x")
}

// replies are the subjects that a message names for its answer, by family.
func (s *stage) replies() map[string][]string {
	families := map[string][]string{
		"acks": {s.pending, "$JS.ACK.COMMANDS.orchestrator.1.1.1.0.0", "$JS.ACK.WORK.model-default.1.1.1.0.0", "$JS.FC.WORK.x.y"},
		"the server itself": {
			"$SYS.REQ.SERVER.PING", "$SYS.REQ.ACCOUNT.PING.CONNZ", "_GR_.x.y.z", "_INBOX.attacker.2.$FI", "_INBOX.attacker.2.b1.1.ok.0.$FI",
		},
	}
	for _, subject := range foreignSubjects() {
		family := strings.Join(strings.SplitN(subject, ".", 3)[:2], ".")
		families[family] = append(families[family], subject)
	}
	for _, r := range apiRequests() {
		families["JetStream"] = append(families["JetStream"], r.Subject)
	}
	return families
}

// apiRequests is one request of every kind that JetStream knows, with a body
// that would do harm.
func apiRequests() []*nats.Msg {
	var list []*nats.Msg
	ask := func(body string, subjects ...string) {
		for _, subject := range subjects {
			list = append(list, &nats.Msg{Subject: api + subject, Data: []byte(body)})
		}
	}
	ask("", "INFO", "STREAM.NAMES", "STREAM.LIST", "STREAM.TEMPLATE.NAMES", "META.LEADER.STEPDOWN", "ACCOUNT.PURGE.EVERTURN")
	ask(`{"name":"EVIL","subjects":["everturn.new.>"],"retention":"limits","storage":"memory","num_replicas":1,"sources":[{"name":"LOG_0"}]}`, "STREAM.CREATE.EVIL")
	for _, stream := range []string{"COMMANDS", "LOG_0", "WORK", "TIMERS", "FEED", "DEAD", "KV_SNAPSHOTS", "KV_TOOLS", "KV_AGENTS", "KV_SKILLS", "KV_TOKENS", "OBJ_BLOBS"} {
		ask("", "STREAM.INFO."+stream, "STREAM.DELETE."+stream, "STREAM.PURGE."+stream, "STREAM.LEADER.STEPDOWN."+stream,
			"CONSUMER.NAMES."+stream, "CONSUMER.LIST."+stream, "CONSUMER.DELETE."+stream+".orchestrator")
		ask(fmt.Sprintf(`{"name":%q,"allow_rollup_hdrs":true,"num_replicas":1}`, stream), "STREAM.UPDATE."+stream)
		ask(`{"seq":1}`, "STREAM.MSG.GET."+stream, "STREAM.MSG.DELETE."+stream, "DIRECT.GET."+stream)
		ask("", "DIRECT.GET."+stream+".everturn.log.0.globex.c1")
		ask(`{"deliver_subject":"_INBOX.attacker.s","no_consumers":true}`, "STREAM.SNAPSHOT."+stream)
		ask(`{}`, "STREAM.RESTORE."+stream)
		consumer := fmt.Sprintf(`{"stream_name":%q,"config":{"name":"evil","durable_name":"evil","deliver_subject":"_INBOX.attacker.d","ack_policy":"none"}}`, stream)
		ask(consumer, "CONSUMER.CREATE."+stream, "CONSUMER.CREATE."+stream+".evil", "CONSUMER.CREATE."+stream+".evil.everturn.>",
			"CONSUMER.DURABLE.CREATE."+stream+".evil")
	}
	for _, consumer := range []string{"COMMANDS.orchestrator", "WORK.model-default", "WORK.tool-web", "TIMERS.due"} {
		ask(`{"batch":10}`, "CONSUMER.MSG.NEXT."+consumer)
		ask("", "CONSUMER.INFO."+consumer, "CONSUMER.DELETE."+consumer, "CONSUMER.LEADER.STEPDOWN."+consumer)
		ask(`{"seq":1}`, "CONSUMER.RESET."+consumer)
		ask(`{"pause_until":"2099-01-01T00:00:00Z"}`, "CONSUMER.PAUSE."+consumer)
		ask(`{"group":"x"}`, "CONSUMER.UNPIN."+consumer)
	}
	ask("", "DIRECT.GET.KV_TOOLS.$KV.TOOLS.web.tool", "DIRECT.GET.KV_SNAPSHOTS.$KV.SNAPSHOTS.1.globex.c1", "DIRECT.GET.OBJ_BLOBS.$O.BLOBS.C.globex")
	return list
}

// settlements are acks of calls that are not the attacker's, on its own ack
// subject and on others.
func (s *stage) settlements() []attack {
	consumers := []string{"tool-web", "tool-files", "model-default"}
	var list []attack
	for _, body := range []string{"", "+ACK", "-NAK", "+TERM", "+WPI", `+NXT {"batch":10}`} {
		var messages []*nats.Msg
		for seq, subject := range s.before["WORK"].subjects {
			if covered(s.rights.remove, subject) {
				continue
			}
			for _, consumer := range consumers {
				ack := fmt.Sprintf("%sWORK.%s.1.%d.1.0.0", acks, consumer, seq)
				messages = append(messages, &nats.Msg{Subject: ack, Data: []byte(body)})
			}
		}
		messages = append(messages,
			&nats.Msg{Subject: s.pending, Data: []byte(body)},
			&nats.Msg{Subject: acks + "COMMANDS.orchestrator.1.1.1.0.0", Data: []byte(body)},
			&nats.Msg{Subject: acks + "TIMERS.due.1.2.1.0.0", Data: []byte(body)})
		list = append(list, attack{name: "settle with " + body, messages: messages, foreign: true})
	}
	return list
}
