package protocol

import (
	"fmt"
	"hash/fnv"
	"strconv"
	"strings"

	"github.com/everturn/everturn/events"
)

// Root is the first token of every subject.
const Root = "everturn"

// Families of subjects, the second token.
const (
	familyCommand  = "cmd"
	familyLog      = "log"
	familyWork     = "work"
	familyTimer    = "timer"
	familyClaim    = "claim"
	familyResult   = "result"
	familyAsk      = "ask"
	familyReply    = "reply"
	familyFeed     = "feed"
	familyStop     = "stop"
	familyRunner   = "runner"
	familyOffer    = "offer"
	familyUpload   = "upload"
	familyDownload = "download"
	familyQuery    = "query"
	familyDead     = "dead"
)

// subject is the one place that spells a subject.
func subject(tokens ...string) string { return Root + "." + strings.Join(tokens, ".") }

// Any stands for any single token when given to a subject function, which then
// spells a filter.
const Any = "*"

// rest stands for any further tokens at the end of a filter.
const rest = ">"

// CommandSubject is where a client publishes a command.
func CommandSubject(k events.Key, verb string) string {
	return subject(familyCommand, k.Tenant, k.Chat, verb)
}

// ParseCommandSubject is the inverse of [CommandSubject]. It checks the tokens.
func ParseCommandSubject(s string) (k events.Key, verb string, err error) {
	t, err := tokens(s, familyCommand, 3)
	if err != nil {
		return events.Key{}, "", err
	}
	k = events.Key{Tenant: t[0], Chat: t[1]}
	return k, t[2], k.Validate()
}

// LogSubject is where orchestrators append a chat's commits.
func LogSubject(shard int, k events.Key) string {
	return subject(familyLog, strconv.Itoa(shard), k.Tenant, k.Chat)
}

// ParseLogSubject is the inverse of [LogSubject].
func ParseLogSubject(s string) (shard int, k events.Key, err error) {
	t, err := tokens(s, familyLog, 3)
	if err != nil {
		return 0, events.Key{}, err
	}
	shard, err = strconv.Atoi(t[0])
	if err != nil || shard < 0 || strconv.Itoa(shard) != t[0] {
		return 0, events.Key{}, fmt.Errorf("subject %q: shard is not a number", s)
	}
	k = events.Key{Tenant: t[1], Chat: t[2]}
	return shard, k, k.Validate()
}

// Shard is the number, from 0, of the LOG stream that holds the chat, of shards many.
func Shard(k events.Key, shards int) int {
	h := fnv.New64a()
	_, _ = h.Write([]byte(k.String())) // a hash never fails
	return int(h.Sum64() % uint64(shards))
}

// ModelWorkSubject carries one attempt of a step to the workers of a pool.
func ModelWorkSubject(pool string, k events.Key, step events.StepID, attempt int) string {
	return subject(familyWork, "model", pool, k.Tenant, k.Chat, step.Token()+"-"+strconv.Itoa(attempt))
}

// ModelWorkFilter is all work of a pool.
func ModelWorkFilter(pool string) string {
	return subject(familyWork, "model", pool, Any, Any, Any)
}

// ToolWorkSubject carries one call to the runners of a group.
func ToolWorkSubject(group string, k events.Key, call events.CallID) string {
	return subject(familyWork, "tool", group, k.Tenant, k.Chat, call.Token())
}

// ToolWorkFilter is all work of a group.
func ToolWorkFilter(group string) string {
	return subject(familyWork, "tool", group, Any, Any, Any)
}

// WorkFilter is all work of a chat, for whatever pool or group.
func WorkFilter(k events.Key) string {
	return subject(familyWork, Any, Any, k.Tenant, k.Chat, rest)
}

// WorkSubject is where work is stored, and it alone: of a timer, where it is set.
func WorkSubject(w Work) string {
	switch w := w.(type) {
	case ModelWork:
		return ModelWorkSubject(w.Pool, w.Key(), w.Step, w.Attempt)
	case ToolWork:
		return ToolWorkSubject(w.Group, w.Key(), w.Call)
	case ChatWork:
		return ChatWorkSubject(w.Key(), w.Name())
	case Timer:
		return TimerSetSubject(w.Key(), w.Name)
	}
	panic(fmt.Sprintf("protocol: no subject for %T", w)) // a new kind without a case: our bug
}

// ChatWorkSubject carries word from one chat to another.
func ChatWorkSubject(k events.Key, what string) string {
	return subject(familyWork, "chat", k.Tenant, k.Chat, what)
}

// parseChatWorkSubject is the inverse of [ChatWorkSubject].
func parseChatWorkSubject(s string) (k events.Key, what string, err error) {
	t, err := tokens(s, familyWork, 4)
	if err != nil {
		return events.Key{}, "", err
	}
	k = events.Key{Tenant: t[1], Chat: t[2]}
	if t[0] != "chat" {
		return events.Key{}, "", fmt.Errorf("subject %q: no word between chats", s)
	}
	if err := k.Validate(); err != nil {
		return events.Key{}, "", fmt.Errorf("subject %q: %w", s, err)
	}
	return k, t[3], nil
}

// TimerSetSubject holds the schedule of a timer.
func TimerSetSubject(k events.Key, name string) string {
	return subject(familyTimer, "set", k.Tenant, k.Chat, name)
}

// TimerDueSubject is where the schedule delivers.
func TimerDueSubject(k events.Key, name string) string {
	return subject(familyTimer, "due", k.Tenant, k.Chat, name)
}

// TimerSetFilter is every schedule.
func TimerSetFilter() string { return subject(familyTimer, "set", rest) }

// TimerDueFilter is every timer that is due.
func TimerDueFilter() string { return subject(familyTimer, "due", rest) }

// ClaimSubject is where a tool runner asks before an effect.
func ClaimSubject(k events.Key) string { return subject(familyClaim, k.Tenant, k.Chat) }

// ResultSubject is where a tool runner reports after it.
func ResultSubject(k events.Key) string { return subject(familyResult, k.Tenant, k.Chat) }

// AskSubject is where a tool runner asks a person, in the middle of an effect.
func AskSubject(k events.Key) string { return subject(familyAsk, k.Tenant, k.Chat) }

// UploadSubject takes large content of a tool's result.
func UploadSubject(k events.Key) string { return subject(familyUpload, k.Tenant, k.Chat) }

// DownloadSubject gives large content back.
func DownloadSubject(k events.Key) string { return subject(familyDownload, k.Tenant, k.Chat) }

// OfferSubject is where a tool runner offers its manifests.
func OfferSubject(group string) string { return subject(familyOffer, group) }

// ParseChatSubject reads the key from a claim, result, ask, upload, download or stop subject.
func ParseChatSubject(s string) (events.Key, error) {
	t := strings.Split(s, ".")
	if len(t) != 4 || t[0] != Root {
		return events.Key{}, fmt.Errorf("subject %q: want %s.<what>.<tenant>.<chat>", s, Root)
	}
	k := events.Key{Tenant: t[2], Chat: t[3]}
	return k, k.Validate()
}

// ReplySubject is where the outcome of a command is told. It is derived: a
// message's own reply subject is never used.
func ReplySubject(tenant, command string) string { return subject(familyReply, tenant, command) }

// FeedCommitSubject is where the server repeats a chat's commits.
func FeedCommitSubject(k events.Key) string {
	return subject(familyFeed, k.Tenant, k.Chat, string(FeedCommit))
}

// FeedDeltaSubject carries pieces of an answer on its way.
func FeedDeltaSubject(k events.Key) string {
	return subject(familyFeed, k.Tenant, k.Chat, string(FeedDelta))
}

// FeedProgressSubject carries what a running tool says.
func FeedProgressSubject(k events.Key) string {
	return subject(familyFeed, k.Tenant, k.Chat, string(FeedProgress))
}

// FeedKind says what is on a subject of the feed.
type FeedKind string

// The kinds of what can be watched of a chat.
const (
	FeedCommit   FeedKind = "commit"
	FeedDelta    FeedKind = "delta"
	FeedProgress FeedKind = "progress"
)

// ParseFeedSubject reads what a message of the feed is about. A kind that this
// release does not know is no error: whoever watches passes it over.
func ParseFeedSubject(s string) (k events.Key, kind FeedKind, err error) {
	t, err := tokens(s, familyFeed, 3)
	if err != nil {
		return events.Key{}, "", err
	}
	k = events.Key{Tenant: t[0], Chat: t[1]}
	return k, FeedKind(t[2]), k.Validate()
}

// StopSubject says that something of the chat is not wanted any more.
func StopSubject(k events.Key) string { return subject(familyStop, k.Tenant, k.Chat) }

// RunnerSubject asks one runner process whether it still runs a claim.
func RunnerSubject(process string) string { return subject(familyRunner, process) }

// QuerySubject asks a projection.
func QuerySubject(tenant, name string) string { return subject(familyQuery, tenant, name) }

// DeadSubject keeps messages nobody could decide.
func DeadSubject(k events.Key) string { return subject(familyDead, k.Tenant, k.Chat) }

// DeadFilter is everything that nobody could decide.
func DeadFilter() string { return subject(familyDead, rest) }

func tokens(s, family string, want int) ([]string, error) {
	after, ok := strings.CutPrefix(s, Root+"."+family+".")
	if !ok {
		return nil, fmt.Errorf("subject %q: want %s.%s.…", s, Root, family)
	}
	t := strings.Split(after, ".")
	if len(t) != want {
		return nil, fmt.Errorf("subject %q: want %d tokens after %s.%s", s, want, Root, family)
	}
	return t, nil
}
