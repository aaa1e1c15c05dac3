package streams_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn"
	"github.com/everturn/everturn/streams"
)

// topologyOf loads the embedded file after some replacements, pairs of old and new.
func topologyOf(t *testing.T, replace ...string) (*streams.Topology, error) {
	t.Helper()
	source := string(everturn.StreamsYAML())
	for i := 0; i < len(replace); i += 2 {
		if !strings.Contains(source, replace[i]) {
			t.Fatalf("streams.yaml does not contain %q", replace[i])
		}
		source = strings.Replace(source, replace[i], replace[i+1], 1)
	}
	return loadText(t, source)
}

func loadText(t *testing.T, source string) (*streams.Topology, error) {
	t.Helper()
	file := filepath.Join(t.TempDir(), "my.yaml")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	return streams.LoadTopology(file)
}

func mustTopology(t *testing.T, replace ...string) *streams.Topology {
	t.Helper()
	topology, err := topologyOf(t, replace...)
	if err != nil {
		t.Fatal(err)
	}
	return topology
}

func TestTheEmbeddedTopologyKeepsTheRulesOfTheBus(t *testing.T) {
	t.Parallel()
	for _, replicas := range []int{1, 3} {
		for _, c := range mustTopology(t).StreamConfigs(replicas) {
			stored := strings.HasPrefix(c.Name, "KV_") || strings.HasPrefix(c.Name, "OBJ_")
			timers := c.Name == streams.TimersStream
			for what, broken := range map[string]bool{
				"allows schedules":               c.AllowMsgSchedules != timers,
				"allows rollup":                  c.AllowRollup != (stored || timers),
				"allows ttl":                     c.AllowMsgTTL,
				"allows batches":                 c.AllowAtomicPublish || c.AllowBatchPublish,
				"takes no small window":          c.Duplicates != 100*time.Millisecond,
				"has no limit":                   c.MaxBytes <= 0,
				"has other replicas":             c.Replicas != replicas,
				"has metadata that says nothing": c.Metadata["app"] != "everturn" || c.Metadata["schema"] == "" || c.Metadata["owner"] == "",
				"is async but replicated":        c.PersistMode == jetstream.AsyncPersistMode && replicas > 1,
			} {
				if broken {
					t.Errorf("%s with %d replicas %s", c.Name, replicas, what)
				}
			}
		}
	}
}

func TestTheEmbeddedTopologyIsWhatTheOtherPartsExpect(t *testing.T) {
	t.Parallel()
	type row struct{ Retention, Discard, Storage, Mode string }
	got := map[string]row{}
	topology := mustTopology(t)
	for _, c := range topology.StreamConfigs(1) {
		got[c.Name] = row{c.Retention.String(), c.Discard.String(), c.Storage.String(), c.PersistMode.String()}
	}
	want := map[string]row{
		"COMMANDS":     {"WorkQueue", "DiscardNew", "File", "Default"},
		"WORK":         {"WorkQueue", "DiscardNew", "File", "Async"},
		"TIMERS":       {"WorkQueue", "DiscardOld", "File", "Async"},
		"FEED":         {"Limits", "DiscardOld", "Memory", "Default"},
		"DEAD":         {"Limits", "DiscardOld", "File", "Default"},
		"KV_SNAPSHOTS": {"Limits", "DiscardOld", "File", "Async"},
		"KV_TOOLS":     {"Limits", "DiscardNew", "File", "Default"},
		"KV_AGENTS":    {"Limits", "DiscardNew", "File", "Default"},
		"KV_SKILLS":    {"Limits", "DiscardNew", "File", "Default"},
		"KV_TOKENS":    {"Limits", "DiscardNew", "File", "Default"},
		"OBJ_BLOBS":    {"Limits", "DiscardNew", "File", "Default"},
	}
	for shard := range topology.Shards() {
		want[streams.LogStream(shard)] = row{"Limits", "DiscardNew", "File", "Default"}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func TestWhatIsPrintedIsATopologyAgain(t *testing.T) {
	t.Parallel()
	topology := mustTopology(t, "shards: 4", "shards: 2", "replicas: auto", "replicas: 3")
	var printed strings.Builder
	if err := topology.Print(&printed); err != nil {
		t.Fatal(err)
	}
	again, err := loadText(t, printed.String())
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(topology.StreamConfigs(3), again.StreamConfigs(3)); diff != "" {
		t.Errorf("topology (-first +again):\n%s", diff)
	}
}

// Whoever brings a file of the release before this one need not change it first.
func TestAFileOfAnOlderReleaseLacksTheBucketOfTokens(t *testing.T) {
	t.Parallel()
	text := string(everturn.StreamsYAML())
	begin, end := strings.Index(text, "  # Hashes of the tokens"), strings.Index(text, "objects:")
	older, err := loadText(t, text[:begin]+text[end:])
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(mustTopology(t).StreamConfigs(1), older.StreamConfigs(1)); diff != "" {
		t.Errorf("streams (-want +got):\n%s", diff)
	}
}

func TestAFileThatIsAwayIsNamed(t *testing.T) {
	t.Parallel()
	_, err := streams.LoadTopology(filepath.Join(t.TempDir(), "none.yaml"))
	if !errors.Is(err, os.ErrNotExist) || !strings.Contains(err.Error(), "none.yaml") {
		t.Errorf("error is %v", err)
	}
}

func TestWhatCannotBeDecodedIsRefusedWithItsPlace(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, source string
		line, column int
		says         string
	}{
		{"unknown key", "shards: 4\nreplcas: 3\n", 2, 1, `unknown field "replcas"`},
		{"unknown key inside", "shards: 4\nstreams:\n  - name: LOG\n    max_byte: 1GiB\n", 4, 5, `unknown field "max_byte"`},
		{"text for a number", "shards: four\n", 1, 9, "want a whole number"},
		{"text for a list", "shards: 4\nstreams: LOG\n", 2, 10, "want a list"},
		{"key twice", "shards: 4\nshards: 5\n", 2, 1, "already defined"},
		{"tab", "streams:\n\t- name: LOG\n", 2, 1, "cannot start any token"},
		{"list that does not end", "shards: 4\nstreams: [\n", 2, 10, "not found"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := loadText(t, tt.source)
			bad, ok := errors.AsType[*streams.FileError](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			p := bad.Problems[0]
			if p.Line != tt.line || p.Column != tt.column || !strings.Contains(p.Message, tt.says) {
				t.Errorf("problem is %d:%d %s, want %d:%d …%s…", p.Line, p.Column, p.Message, tt.line, tt.column, tt.says)
			}
			if lines := strings.Split(tt.source, "\n"); !strings.Contains(err.Error(), fmt.Sprintf("my.yaml:%d:%d: ", tt.line, tt.column)) ||
				!strings.Contains(err.Error(), lines[tt.line-1]) {
				t.Errorf("message shows neither place nor line:\n%v", err)
			}
		})
	}
}

func TestAValueTheCodeCannotWorkWithIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		old, new string // in the embedded file, first occurrence
		says     string
	}{
		{"no shards", "shards: 4", "shards: 0", "shards is 0"},
		{"too many shards", "shards: 4", "shards: 257", "shards is 257"},
		{"even replicas", "replicas: auto", "replicas: 2", `replicas is "2"`},
		{"window below the server's", "duplicates: 100ms", "duplicates: 99ms", "at least 100ms"},
		{"no duration", "duplicates: 100ms", "duplicates: soon", "want a duration"},
		{"unknown stream", "- name: DEAD", "- name: LETTERS", `unknown stream "LETTERS"`},
		{"unknown bucket", "- name: TOOLS", "- name: TOOL", `unknown bucket "TOOL"`},
		{"unknown object store", "- name: BLOBS", "- name: BLOB", `unknown object store "BLOB"`},
		{"unknown consumer", "- name: due", "- name: do", `unknown consumer "do"`},
		{"stream twice", "- name: DEAD", "- name: FEED", "FEED is in streams already"},
		{"other subjects", "[everturn.dead.>]", "[everturn.>]", "subjects must be"},
		{"commands that old ones make room for", "discard: new", "discard: old", `discard is "old" and must be "new"`},
		{"commands that are kept", "retention: work_queue", "retention: limits", `retention is "limits"`},
		{"commands in memory", "storage: file", "storage: memory", `storage is "memory"`},
		{"commands written late", "storage: file", "storage: file\n    persist_mode: async", "must not be async"},
		{"unknown mode", "persist_mode: async", "persist_mode: lazy", `persist_mode is "lazy"`},
		{"no limit", "    max_bytes: 1GiB\n", "", "max_bytes is missing"},
		{"no number of bytes", "max_bytes: 1GiB", "max_bytes: lots", "want a number of bytes"},
		{"limit that is none", "max_bytes: 1GiB", "max_bytes: 0", "at least 1MiB"},
		{"log without room for a commit", "max_msg_size: 576KiB", "max_msg_size: 512KiB", "at least 576KiB"},
		{"log that forgets", "republish: ", "max_age: 720h\n    republish: ", "must have no max_age"},
		{"log that nobody sees", "republish: everturn.feed.{{wildcard(1)}}.{{wildcard(2)}}.commit\n", "", "republish is missing"},
		{"feed that stays", "    max_age: 15m\n", "", "max_age is missing"},
		{"schedules for clients", "allow: [direct]", "allow: [schedules]", "must not allow schedules"},
		{"timers without schedules", "    allow: [schedules]\n", "", "must allow schedules"},
		{"rollup for clients", "allow: [direct]", "allow: [rollup]", `cannot allow "rollup"`},
		{"purge for clients", "    deny: [purge]\n", "", "must deny purge"},
		{"unknown denial", "deny: [purge]", "deny: [purge, all]", `cannot deny "all"`},
		{"commands that cannot go", "deny: [purge]", "deny: [purge, delete]", "must not deny delete"},
		{"a last delivery", "max_deliver: -1", "max_deliver: 5", "max_deliver is 5"},
		{"nothing in hand", "max_ack_pending: 10000", "max_ack_pending: 0", "max_ack_pending is 0"},
		{"no ack wait", "        ack_wait: 15s\n", "", "ack_wait is missing"},
		{"no history", "history: 1", "history: 65", "history is 65"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := topologyOf(t, tt.old, tt.new)
			bad, ok := errors.AsType[*streams.FileError](err)
			if !ok {
				t.Fatalf("error is %v", err)
			}
			for _, p := range bad.Problems {
				if strings.Contains(p.Message, tt.says) && p.Line > 1 && p.Column > 1 {
					return
				}
			}
			t.Errorf("no problem with a place says %q:\n%v", tt.says, err)
		})
	}
}

func TestAllProblemsAreReportedAtOnceByLine(t *testing.T) {
	t.Parallel()
	_, err := topologyOf(t,
		"shards: 4", "shards: 0",
		"discard: new", "discard: old",
		"- name: DEAD", "- name: LETTERS",
		"max_value_size: 64KiB", "max_value_size: big",
	)
	bad, ok := errors.AsType[*streams.FileError](err)
	if !ok {
		t.Fatalf("error is %v", err)
	}
	var got []string
	for i, p := range bad.Problems {
		got = append(got, p.Message)
		if i > 0 && bad.Problems[i-1].Line > p.Line {
			t.Errorf("line %d comes after line %d", p.Line, bad.Problems[i-1].Line)
		}
	}
	all := strings.Join(got, "\n")
	for _, says := range []string{"shards is 0", `COMMANDS: discard is "old"`, `unknown stream "LETTERS"`, "DEAD is missing", `TOOLS: max_value_size is "big"`} {
		if !strings.Contains(all, says) {
			t.Errorf("nothing says %q in:\n%s", says, all)
		}
	}
	if len(got) != 5 {
		t.Errorf("%d problems, want 5:\n%s", len(got), all)
	}
}
