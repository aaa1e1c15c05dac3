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
		users:     []User{cfg.orchestrator(), cfg.projection(), gateway(), operator()},
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
// of commands, attempts and timers, and answers runners. It makes and deletes no
// stream. Its answers go to inboxes and to replies mapped by the server: a
// request that names another subject as its reply gets none.
func (cfg Config) orchestrator() User {
	return User{
		Role: RoleOrchestrator, Name: string(RoleOrchestrator),
		publish: slices.Concat(
			cfg.logSubjects(),
			[]string{
				protocol.ModelWorkFilter(protocol.Any),
				protocol.ToolWorkFilter(protocol.Any),
				protocol.ChatWorkSubject(everyChat, protocol.Any),
				protocol.TimerSetSubject(everyChat, protocol.Any),
				protocol.ReplySubject(protocol.Any, protocol.Any),
				protocol.FeedDeltaSubject(everyChat),
				protocol.StopSubject(everyChat),
				protocol.RunnerFilter(protocol.Any),
				protocol.DeadSubject(everyChat),
				mappedReplies, inboxes,
			},
			bucketWrite(streams.SnapshotsBucket), bucketWrite(streams.ToolsBucket), objectWrite(streams.BlobsStore),
			streamInfo(),
			cfg.logRead(),
			readers(streams.CommandsStream, streams.FeedStream, streams.DeadStream, bucket(streams.SnapshotsBucket),
				bucket(streams.ToolsBucket), bucket(streams.AgentsBucket), objects(streams.BlobsStore)),
			worker(streams.CommandsStream), worker(streams.WorkStream), worker(streams.TimersStream),
			[]string{"$JS.API.STREAM.MSG.DELETE." + streams.CommandsStream},
		),
		subscribe: []string{
			protocol.ClaimSubject(everyChat), protocol.ResultSubject(everyChat),
			protocol.UploadSubject(everyChat), protocol.DownloadSubject(everyChat),
			protocol.OfferSubject(protocol.Any),
			protocol.StopSubject(everyChat),
			protocol.FeedCommitSubject(everyChat),
			inboxes,
		},
	}
}

func (cfg Config) logSubjects() []string {
	list := make([]string, cfg.Shards)
	for shard := range list {
		list[shard] = protocol.LogSubject(shard, everyChat)
	}
	return list
}

// projection reads the log and answers queries; it publishes answers only.
func (cfg Config) projection() User {
	return User{
		Role: RoleProjection, Name: string(RoleProjection),
		publish: slices.Concat(
			[]string{mappedReplies, inboxes},
			streamInfo(), cfg.logRead(), readers(objects(streams.BlobsStore)),
		),
		subscribe: []string{
			protocol.QuerySubject(protocol.Any, protocol.Any),
			protocol.FeedCommitSubject(everyChat),
			microDiscovery, inboxes,
		},
	}
}

// gateway speaks for the clients of all tenants, and for nobody else.
func gateway() User {
	u := User{
		Role: RoleGateway, Name: string(RoleGateway),
		subscribe: []string{protocol.FeedFilter(protocol.Any), protocol.ReplySubject(protocol.Any, protocol.Any), inboxes},
	}
	for _, verb := range protocol.Verbs() {
		u.publish = append(u.publish, protocol.CommandSubject(everyChat, string(verb)))
	}
	u.publish = slices.Concat(u.publish,
		[]string{
			protocol.QuerySubject(protocol.Any, protocol.Any),
			protocol.UploadSubject(everyChat), protocol.DownloadSubject(everyChat),
		},
		streamInfo(), readers(streams.FeedStream))
	return u
}

// operator makes and changes streams, reads all of them, and does by hand what
// clients do. It cannot publish to the log or to a queue of work.
func operator() User {
	return User{
		Role: RoleOperator, Name: string(RoleOperator),
		publish: slices.Concat(
			[]string{
				"$JS.API.>",
				flowControl + ">",
				protocol.CommandSubject(everyChat, protocol.Any),
				protocol.QuerySubject(protocol.Any, protocol.Any),
				microDiscovery,
			},
			bucketWrite(streams.ToolsBucket), bucketWrite(streams.AgentsBucket),
		),
		subscribe: []string{protocol.Root + ".>", "$JS.EVENT.>", inboxes},
	}
}

// microDiscovery is where services of nats.go/micro tell about themselves.
const microDiscovery = "$SRV.>"
