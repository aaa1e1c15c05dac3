package roles

import (
	"slices"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// serviceAccount is where Everturn's own processes live, with JetStream.
func (cfg Config) serviceAccount() account {
	a := account{
		name:      protocol.ServiceAccount,
		says:      "Everturn's own processes. Streams and buckets are here, and nowhere else.",
		jetStream: true,
		users:     []User{cfg.orchestrator(), cfg.projection(), cfg.gateway(), cfg.webhook(), operator()},
	}
	for _, tenant := range cfg.Tenants {
		a.exports = append(a.exports, clientExports(tenant)...)
	}
	a.exports = append(a.exports, runnerExports(cfg.Groups)...)
	for _, group := range cfg.Groups {
		a.imports = append(a.imports, imported{service, protocol.RunnerAccount(group), protocol.RunnerFilter(group)})
	}
	return a
}

// orchestrator writes the log and what follows from it, works through the queues
// of commands, attempts and timers, and answers runners. It may make streams that
// are not there, at the first start, and changes and deletes none. It deletes what it
// has decided, what is left of a put that failed, and what belongs to an erased chat.
//
// Its answers go to inboxes and to replies mapped by the server: a request that
// names another subject as its reply gets none, whatever the code does.
func (cfg Config) orchestrator() User {
	var logSubjects []string
	for shard := range cfg.Shards {
		logSubjects = append(logSubjects, protocol.LogSubject(shard, everyChat))
	}
	return User{
		Role: RoleOrchestrator, Name: string(RoleOrchestrator),
		publish: slices.Concat(
			logSubjects,
			[]string{
				protocol.ModelWorkFilter(protocol.Any),
				protocol.ToolWorkFilter(protocol.Any),
				protocol.ChatWorkSubject(everyChat, protocol.Any),
				protocol.TimerSetSubject(everyChat, protocol.Any),
				protocol.DeadSubject(everyChat),
				put(streams.SnapshotsBucket), put(streams.ToolsBucket), putObject(streams.BlobsStore),
				protocol.ReplySubject(protocol.Any, protocol.Any),
				protocol.FeedDeltaSubject(everyChat),
				protocol.StopSubject(everyChat),
				protocol.RunnerFilter(protocol.Any),
				mappedReplies, inboxes,
			},
			inspect(),
			each(makeStream, cfg.everyStream()...),
			each(makeConsumer, streams.CommandsStream, streams.WorkStream, streams.TimersStream),
			work(streams.CommandsStream, streams.CommandsConsumer),
			work(streams.TimersStream, streams.DueConsumer),
			work(streams.WorkStream, protocol.Any), // pools have any name; part of a token cannot be a wildcard
			each(leaderGet, cfg.logs()...), each(directGet, cfg.logs()...),
			each(leaderGet, streams.CommandsStream, streams.WorkStream, streams.DeadStream, skills, blobs),
			[]string{
				directGet(streams.CommandsStream), directGetLast(snapshots),
				api + "STREAM.PURGE." + blobs, api + "STREAM.PURGE." + snapshots,
			},
			each(deleteMessage, append(cfg.logs(), streams.CommandsStream, streams.WorkStream, streams.DeadStream, blobs)...),
			follow(append(cfg.logs(), streams.FeedStream, tools, agents, skills)...),
		),
		subscribe: []string{
			protocol.ClaimSubject(everyChat), protocol.ResultSubject(everyChat), protocol.AskSubject(everyChat),
			protocol.UploadSubject(everyChat), protocol.DownloadSubject(everyChat),
			protocol.OfferSubject(protocol.Any),
			protocol.StopSubject(everyChat),
			inboxes,
		},
	}
}

// projection reads the log and answers queries. It stores nothing; what clients
// upload it passes on to orchestrators.
func (cfg Config) projection() User {
	return User{
		Role: RoleProjection, Name: string(RoleProjection),
		publish: slices.Concat(
			[]string{mappedReplies, inboxes, protocol.UploadSubject(everyChat), protocol.DownloadSubject(everyChat)},
			inspect(),
			each(leaderGet, cfg.logs()...), each(directGet, cfg.logs()...), each(leaderGet, blobs), follow(cfg.logs()...),
		),
		subscribe: []string{protocol.QuerySubject(protocol.Any, protocol.Any), microDiscovery, inboxes},
	}
}

// gateway speaks for the clients of all tenants: what all of them may do
// together, and the deltas that the feed still has. It knows the hashes of tokens
// and makes none, and learns from the log which turns are open.
func (cfg Config) gateway() User {
	var commands []string
	for _, verb := range protocol.Verbs() {
		commands = append(commands, protocol.CommandSubject(everyChat, string(verb)))
	}
	return User{
		Role: RoleGateway, Name: string(RoleGateway),
		publish: slices.Concat(
			commands,
			[]string{
				protocol.QuerySubject(protocol.Any, protocol.Any),
				protocol.UploadSubject(everyChat), protocol.DownloadSubject(everyChat),
			},
			inspect(), follow(append(cfg.logs(), streams.FeedStream, tokens, agents)...),
		),
		subscribe: []string{protocol.FeedFilter(protocol.Any), protocol.ReplySubject(protocol.Any, protocol.Any), inboxes},
	}
}

// webhook reads the log by consumers that keep how far it is. It writes nothing, and
// removes nothing: a log keeps what was acknowledged.
func (cfg Config) webhook() User {
	var logs []string
	for _, log := range cfg.logs() {
		logs = append(logs, work(log, protocol.Any)...) // part of a token cannot be a wildcard
	}
	return User{
		Role: RoleWebhook, Name: string(RoleWebhook),
		publish:   slices.Concat(inspect(), each(makeConsumer, cfg.logs()...), logs),
		subscribe: []string{inboxes},
	}
}

// operator makes, changes, deletes, backs up and restores streams, reads all of
// them, and can do by hand what clients do. It cannot publish to the log or to a queue of work.
func operator() User {
	return User{
		Role: RoleOperator, Name: string(RoleOperator),
		publish: []string{
			api + ">", flowControl + ">", backups + ">",
			protocol.CommandSubject(everyChat, protocol.Any),
			protocol.QuerySubject(protocol.Any, protocol.Any),
			protocol.UploadSubject(everyChat), // for imports
			put(streams.ToolsBucket), put(streams.AgentsBucket), put(streams.SkillsBucket), put(streams.TokensBucket),
			microDiscovery,
		},
		subscribe: []string{protocol.Root + ".>", "$JS.EVENT.>", inboxes},
	}
}

// microDiscovery is where services of nats.go/micro tell about themselves.
const microDiscovery = "$SRV.>"
