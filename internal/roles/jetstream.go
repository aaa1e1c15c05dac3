package roles

import "github.com/everturn/everturn/streams"

const (
	api         = "$JS.API."
	acks        = "$JS.ACK."
	flowControl = "$JS.FC."
	backups     = "$JS.SNAPSHOT."
)

// Streams behind buckets and object stores, as client libraries name them.
const (
	snapshots = "KV_" + streams.SnapshotsBucket
	tools     = "KV_" + streams.ToolsBucket
	agents    = "KV_" + streams.AgentsBucket
	skills    = "KV_" + streams.SkillsBucket
	tokens    = "KV_" + streams.TokensBucket
	blobs     = "OBJ_" + streams.BlobsStore
)

// logs are the streams of the log.
func (cfg Config) logs() []string {
	names := make([]string, cfg.Shards)
	for shard := range names {
		names[shard] = streams.LogStream(shard)
	}
	return names
}

// everyStream is all of them.
func (cfg Config) everyStream() []string {
	return append(cfg.logs(), streams.CommandsStream, streams.WorkStream, streams.TimersStream, streams.FeedStream,
		streams.DeadStream, snapshots, tools, agents, skills, tokens, blobs)
}

// each spells one request for each of the names.
func each(request func(name string) string, names ...string) []string {
	list := make([]string, len(names))
	for i, name := range names {
		list[i] = request(name)
	}
	return list
}

// put is where values of a bucket are put.
func put(bucket string) string { return "$KV." + bucket + ".>" }

// putObject is where the pieces of objects are put.
func putObject(store string) string { return "$O." + store + ".>" }

// inspect asks what streams and consumers are there, and how they are set.
func inspect() []string { return []string{api + "STREAM.INFO.*", api + "CONSUMER.INFO.*.*"} }

// makeStream makes a stream that is not there. It changes none that is.
func makeStream(name string) string { return api + "STREAM.CREATE." + name }

// makeConsumer makes a consumer that has a name, or changes it.
func makeConsumer(stream string) string { return api + "CONSUMER.CREATE." + stream + ".>" }

// deleteMessage deletes one message of a stream.
func deleteMessage(stream string) string { return api + "STREAM.MSG.DELETE." + stream }

// leaderGet reads one message, as the stream's leader has it.
func leaderGet(stream string) string { return api + "STREAM.MSG.GET." + stream }

// directGet reads messages from any replica, as its body says.
func directGet(stream string) string { return api + "DIRECT.GET." + stream }

// directGetLast reads the last message of a subject from any replica.
func directGetLast(stream string) string { return api + "DIRECT.GET." + stream + ".>" }

// follow reads a stream through a consumer without a name, made for it.
func follow(names ...string) []string {
	var list []string
	for _, name := range names {
		list = append(list, api+"CONSUMER.CREATE."+name, api+"CONSUMER.DELETE."+name+".*", flowControl+name+".>")
	}
	return list
}

// work takes messages from a queue and settles them.
func work(stream, consumer string) []string {
	return []string{api + "CONSUMER.MSG.NEXT." + stream + "." + consumer, acks + stream + "." + consumer + ".>"}
}
