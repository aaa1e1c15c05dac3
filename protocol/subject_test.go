package protocol_test

import (
	"regexp"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"pgregory.net/rapid"
)

func TestSubjects(t *testing.T) {
	t.Parallel()
	k := events.Key{Tenant: "acme", Chat: "C1"}
	for want, got := range map[string]string{
		"everturn.cmd.acme.C1.send":                   protocol.CommandSubject(k, "send"),
		"everturn.log.3.acme.C1":                      protocol.LogSubject(3, k),
		"everturn.work.model.default.acme.C1.3-2-1":   protocol.ModelWorkSubject("default", k, step, 1),
		"everturn.work.model.default.*.*.*":           protocol.ModelWorkFilter("default"),
		"everturn.work.tool.files.acme.C1.3-2-1":      protocol.ToolWorkSubject("files", k, call),
		"everturn.work.tool.files.*.*.*":              protocol.ToolWorkFilter("files"),
		"everturn.work.*.*.acme.C1.>":                 protocol.WorkFilter(k),
		"everturn.work.chat.acme.C1.report-3-2-1":     protocol.ChatWorkSubject(k, "report-3-2-1"),
		"everturn.timer.set.acme.C1.end-3":            protocol.TimerSetSubject(k, "end-3"),
		"everturn.timer.due.acme.C1.end-3":            protocol.TimerDueSubject(k, "end-3"),
		"everturn.claim.acme.C1":                      protocol.ClaimSubject(k),
		"everturn.result.acme.C1":                     protocol.ResultSubject(k),
		"everturn.ask.acme.C1":                        protocol.AskSubject(k),
		"everturn.upload.acme.C1":                     protocol.UploadSubject(k),
		"everturn.download.acme.C1":                   protocol.DownloadSubject(k),
		"everturn.offer.files":                        protocol.OfferSubject("files"),
		"everturn.reply.acme." + ulidOfCommand:        protocol.ReplySubject("acme", ulidOfCommand),
		"everturn.feed.acme.C1.commit":                protocol.FeedCommitSubject(k),
		"everturn.feed.acme.C1.delta":                 protocol.FeedDeltaSubject(k),
		"everturn.feed.acme.C1.progress":              protocol.FeedProgressSubject(k),
		"everturn.stop.acme.C1":                       protocol.StopSubject(k),
		"everturn.runner." + nameOfRunner:             protocol.RunnerSubject(nameOfRunner),
		"everturn.query.acme.transcript":              protocol.QuerySubject("acme", "transcript"),
		"everturn.dead.acme.C1":                       protocol.DeadSubject(k),
		"everturn.cmd.*.*.*":                          protocol.CommandSubject(events.Key{Tenant: protocol.Any, Chat: protocol.Any}, protocol.Any),
		"everturn.work.model.default.acme.C1.30-2-11": protocol.ModelWorkSubject("default", k, events.StepID{Turn: 30, Step: 2}, 11),
	} {
		if got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// keys draws keys that are valid, long and short.
var keys = rapid.Custom(func(t *rapid.T) events.Key {
	return events.Key{
		Tenant: rapid.StringMatching(`[a-z0-9_-]{1,64}`).Draw(t, "tenant"),
		Chat:   rapid.StringMatching(`[A-Za-z0-9_-]{1,64}`).Draw(t, "chat"),
	}
})

func TestSubjectsRoundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		k := keys.Draw(t, "key")
		verb := rapid.StringMatching(`[a-z-]{1,20}`).Draw(t, "verb")
		if gotKey, gotVerb, err := protocol.ParseCommandSubject(protocol.CommandSubject(k, verb)); err != nil || gotKey != k || gotVerb != verb {
			t.Errorf("command subject gives %v %s, %v", gotKey, gotVerb, err)
		}
		shard := rapid.IntRange(0, 1000).Draw(t, "shard")
		if gotShard, gotKey, err := protocol.ParseLogSubject(protocol.LogSubject(shard, k)); err != nil || gotKey != k || gotShard != shard {
			t.Errorf("log subject gives %d %v, %v", gotShard, gotKey, err)
		}
		for subject, want := range map[string]protocol.FeedKind{
			protocol.FeedCommitSubject(k): protocol.FeedCommit, protocol.FeedDeltaSubject(k): protocol.FeedDelta,
			protocol.FeedProgressSubject(k): protocol.FeedProgress,
		} {
			if gotKey, kind, err := protocol.ParseFeedSubject(subject); err != nil || gotKey != k || kind != want {
				t.Errorf("%s gives %v %s, %v", subject, gotKey, kind, err)
			}
		}
		for _, subject := range []string{
			protocol.ClaimSubject(k), protocol.ResultSubject(k), protocol.AskSubject(k), protocol.UploadSubject(k), protocol.DownloadSubject(k), protocol.StopSubject(k),
		} {
			if got, err := protocol.ParseChatSubject(subject); err != nil || got != k {
				t.Errorf("%s gives %v, %v", subject, got, err)
			}
		}
	})
}

func TestHostileSubjects(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "everturn", "everturn.cmd", "everturn.cmd.acme.C1", "everturn.cmd.acme.C1.send.now", "everturn.cmd..C1.send",
		"everturn.cmd.acme..send", "everturn.cmd.*.C1.send", "everturn.cmd.acme.>.send", "everturn.cmd.ACME.C1.send",
		"everturn.cmd.acme.C 1.send", "everturn.cmd.acme.C\n1.send", "everturn.cmd.acme." + strings.Repeat("c", 65) + ".send",
		"Everturn.cmd.acme.C1.send", "other.cmd.acme.C1.send", "everturn.log.acme.C1.send",
	} {
		if k, _, err := protocol.ParseCommandSubject(s); err == nil {
			t.Errorf("%q is taken for a command to %v", s, k)
		}
	}
	for _, s := range []string{
		"", "everturn.log.acme.C1", "everturn.log.-1.acme.C1", "everturn.log.01.acme.C1", "everturn.log.+1.acme.C1",
		"everturn.log.a.acme.C1", "everturn.log.0.acme.C1.x", "everturn.log.0.*.C1", "everturn.cmd.0.acme.C1",
	} {
		if shard, k, err := protocol.ParseLogSubject(s); err == nil {
			t.Errorf("%q is taken for the log of %v in shard %d", s, k, shard)
		}
	}
	for _, s := range []string{
		"", "everturn.feed.acme.C1", "everturn.feed.acme.C1.delta.x", "everturn.feed.*.C1.delta", "everturn.feed.acme.>.delta", "everturn.cmd.acme.C1.delta",
	} {
		if k, kind, err := protocol.ParseFeedSubject(s); err == nil {
			t.Errorf("%q is taken for %s of %v", s, kind, k)
		}
	}
	for _, s := range []string{
		"", "everturn.claim", "everturn.claim.acme", "everturn.claim.acme.C1.x", "other.claim.acme.C1", "everturn.claim.acme.*",
		"everturn.claim.>.C1", "everturn.claim.acme.", "_INBOX.a.b.c",
	} {
		if k, err := protocol.ParseChatSubject(s); err == nil {
			t.Errorf("%q is taken for %v", s, k)
		}
	}
}

// A subject made from a key that was checked has exactly the tokens it should:
// nothing in a key can widen or move it.
func TestSubjectsOfCheckedKeysAreLiteral(t *testing.T) {
	t.Parallel()
	literal := regexp.MustCompile(`^[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*$`)
	rapid.Check(t, func(t *rapid.T) {
		k := events.Key{Tenant: rapid.String().Draw(t, "tenant"), Chat: rapid.String().Draw(t, "chat")}
		if k.Validate() != nil {
			return
		}
		if s := protocol.LogSubject(0, k); !literal.MatchString(s) || strings.Count(s, ".") != 4 {
			t.Errorf("%q", s)
		}
	})
}

// A chat that moved to another shard would have lost its log.
func TestShardIsFrozen(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		tenant, chat string
		shards, want int
	}{
		{"default", "01KB6Q3Z8V0000000000000000", 4, 0},
		{"default", "01KB6Q3Z8V0000000000000001", 4, 3},
		{"acme", "c", 4, 0},
		{"acme", "c", 7, 0},
		{"acme", "c", 1, 0},
	} {
		if got := protocol.Shard(events.Key{Tenant: tt.tenant, Chat: tt.chat}, tt.shards); got != tt.want {
			t.Errorf("%s.%s is in shard %d of %d, want %d", tt.tenant, tt.chat, got, tt.shards, tt.want)
		}
	}
}

func TestShardIsInRange(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		shards := rapid.IntRange(1, 64).Draw(t, "shards")
		if got := protocol.Shard(keys.Draw(t, "key"), shards); got < 0 || got >= shards {
			t.Errorf("shard %d of %d", got, shards)
		}
	})
}
