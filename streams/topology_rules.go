package streams

import (
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Words of the file.
const (
	retentionLimits = "limits"
	retentionQueue  = "work_queue"
	discardNew      = "new"
	discardOld      = "old"
	storageFile     = "file"
	storageMemory   = "memory"
	persistDefault  = "default"
	persistAsync    = "async"
	allowDirect     = "direct"
	allowSchedules  = "schedules"
	denyPurge       = "purge"
	denyDelete      = "delete"
	replicasAuto    = "auto"

	shardPlaceholder = "{shard}"
	modelTemplate    = modelConsumer + "{pool}"
	toolTemplate     = toolConsumer + "{group}"
)

// streamRule is what the code relies on, whatever a file says. The limits are
// the operator's.
type streamRule struct {
	name      string
	subjects  []string
	retention string
	discard   string
	why       string // of discard, for people
	storage   string
	derived   bool // follows from the log
	aged      bool // has a max_age; others must not
	schedules bool
	closed    bool // purge must be denied
	republish string
	consumers []string
	minSize   int64 // of max_msg_size
}

// logHeaderBytes is what a commit's headers may add to its body.
const logHeaderBytes = 64 << 10

// minMessageBytes is the smallest max_msg_size that leaves anything working.
const minMessageBytes = 1 << 10

// streamRules are the streams a file must have, each once.
func streamRules() []streamRule {
	return []streamRule{
		{
			name:      CommandsStream,
			subjects:  []string{protocol.CommandSubject(anyChat(), protocol.Any)},
			retention: retentionQueue,
			discard:   discardNew, why: "a full queue must refuse commands, not drop accepted ones",
			storage: storageFile, closed: true,
			consumers: []string{CommandsConsumer},
			minSize:   minMessageBytes,
		},
		{
			name:      logStream,
			subjects:  []string{strings.Replace(logSubjects(0), ".0.", "."+shardPlaceholder+".", 1)},
			retention: retentionLimits,
			discard:   discardNew, why: "a full log must refuse commits, not drop old ones",
			storage: storageFile, closed: true,
			republish: feedCommits(),
			minSize:   events.MaxCommitBytes + logHeaderBytes,
		},
		{
			name: WorkStream,
			subjects: []string{
				protocol.ModelWorkFilter(protocol.Any),
				protocol.ToolWorkFilter(protocol.Any),
				protocol.ChatWorkSubject(anyChat(), protocol.Any),
			},
			retention: retentionQueue,
			discard:   discardNew, why: "work that is stored must stay until it is done",
			storage: storageFile, derived: true,
			consumers: []string{ChatConsumer, modelTemplate, toolTemplate},
			minSize:   events.MaxArgumentsBytes + logHeaderBytes,
		},
		{
			name:      TimersStream,
			subjects:  []string{protocol.TimerSetFilter(), protocol.TimerDueFilter()},
			retention: retentionQueue,
			discard:   discardOld, why: "the server allows no schedules with discard new",
			storage: storageFile, derived: true, schedules: true,
			consumers: []string{DueConsumer},
			minSize:   minMessageBytes,
		},
		{
			name:      FeedStream,
			subjects:  []string{protocol.FeedDeltaSubject(anyChat()), protocol.FeedProgressSubject(anyChat())},
			retention: retentionLimits,
			discard:   discardOld, why: "watching must never hold up what is watched",
			storage: storageMemory, derived: true, aged: true, closed: true,
			minSize: minMessageBytes,
		},
		{
			name:      DeadStream,
			subjects:  []string{protocol.DeadFilter()},
			retention: retentionLimits,
			discard:   discardOld, why: "dead letters must never hold up the living",
			storage: storageFile, aged: true, closed: true,
			minSize: minMessageBytes,
		},
	}
}

// bucketRule is what the code relies on of a bucket.
type bucketRule struct {
	name    string
	discard string
	why     string
	derived bool

	// late says that files of an older release do not have it. Then it is as in the
	// file of this binary.
	late bool
}

func bucketRules() []bucketRule {
	return []bucketRule{
		{name: SnapshotsBucket, discard: discardOld, why: "a full cache drops the oldest", derived: true},
		{name: ToolsBucket, discard: discardNew, why: "a full registry must refuse tools, not forget them"},
		{name: AgentsBucket, discard: discardNew, why: "a full bucket must refuse settings, not forget them"},
		{name: SkillsBucket, discard: discardNew, why: "a full bucket must refuse skills, not forget them", late: true},
		{name: TokensBucket, discard: discardNew, why: "a full bucket must refuse tokens, not forget them", late: true},
	}
}

func anyChat() events.Key { return events.Key{Tenant: protocol.Any, Chat: protocol.Any} }

func logSubjects(shard int) string { return protocol.LogSubject(shard, anyChat()) }

// feedCommits is where the server repeats the log: tenant and chat are the
// wildcards of [logSubjects].
func feedCommits() string {
	return protocol.FeedCommitSubject(events.Key{Tenant: "{{wildcard(1)}}", Chat: "{{wildcard(2)}}"})
}

// consumerFilter is what a consumer of the file gets; empty is all of its
// stream, or depends on the pool or group.
func consumerFilter(name string) string {
	switch name {
	case ChatConsumer:
		return protocol.ChatWorkSubject(anyChat(), protocol.Any)
	case DueConsumer:
		return protocol.TimerDueFilter()
	}
	return ""
}
