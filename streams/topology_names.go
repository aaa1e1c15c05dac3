package streams

import "strconv"

// Streams.
const (
	CommandsStream = "COMMANDS"
	WorkStream     = "WORK"
	TimersStream   = "TIMERS"
	FeedStream     = "FEED"
	DeadStream     = "DEAD"

	logStream = "LOG" // in the file; one per shard on the server
)

// LogStream is the stream that holds a shard's commits.
func LogStream(shard int) string { return logStream + "_" + strconv.Itoa(shard) }

// Key-value buckets and the object store.
const (
	SnapshotsBucket = "SNAPSHOTS"
	ToolsBucket     = "TOOLS"
	AgentsBucket    = "AGENTS"
	SkillsBucket    = "SKILLS"
	TokensBucket    = "TOKENS"
	BlobsStore      = "BLOBS"

	bucketPrefix = "KV_"  // of the stream behind a bucket, as the client library has it
	objectPrefix = "OBJ_" // of the stream behind an object store
)

// Durable consumers.
const (
	CommandsConsumer = "orchestrator" // of COMMANDS
	ChatConsumer     = "chat"         // of WORK
	DueConsumer      = "due"          // of TIMERS

	modelConsumer = "model-"
	toolConsumer  = "tool-"
)

// ModelConsumer is the consumer of WORK that the workers of a pool share.
func ModelConsumer(pool string) string { return modelConsumer + pool }

// ToolConsumer is the consumer of WORK that the runners of a group share.
func ToolConsumer(group string) string { return toolConsumer + group }
