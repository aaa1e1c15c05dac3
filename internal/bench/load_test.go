package bench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

// toolURL makes this test binary the tool process of a rig.
const toolURL = "EVERTURN_BENCH_TOOL_URL"

func TestMain(m *testing.M) {
	if url := os.Getenv(toolURL); url != "" {
		if err := runTool(url); err != nil {
			fmt.Fprintln(os.Stderr, "tool:", err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

func runTool(url string) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	nc, err := nats.Connect(url)
	if err != nil {
		return err
	}
	defer nc.Close()
	return parts.RunTools(ctx, nc, toolrunner.Config{Group: Group, Concurrency: Concurrency}, []toolrunner.Tool{Tool()})
}

func tool(ctx context.Context, url string, _ bool) *exec.Cmd {
	c := exec.CommandContext(ctx, os.Args[0])
	c.Env = append(os.Environ(), toolURL+"="+url)
	return c
}

// That each load reads what it should is checked by what is under test.
func TestLoadOfAChatAmongOthers(t *testing.T) {
	t.Parallel()

	l, err := measureLoad(t.Context(), Options{Others: 1000, Tool: tool}.withDefaults(), loadSize{turns: 6, tail: 2, rounds: 1})
	if err != nil {
		t.Fatal(err)
	}
	if l.Events != 48 || l.Tail != 8 || l.WithSnapshot <= 0 || l.WithOlder <= 0 || l.WithoutSnapshot <= 0 || l.EventsPerSecond <= 0 {
		t.Errorf("measured %+v, want times of 48 events, 8 commits of them behind a snapshot", l)
	}
}

// newBareRig has the streams, and nobody at work.
func newBareRig(t *testing.T) *rig {
	t.Helper()
	r, err := startServer(t.Context(), false)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.close(); err != nil {
			t.Error(err)
		}
	})
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Apply(t.Context(), r.js, streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestOthersAreCommitsOfManyChatsInAllShards(t *testing.T) {
	t.Parallel()

	const count = 501
	r := newBareRig(t)
	f, err := r.newFiller()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	for n := range 3 {
		if err := f.write(t.Context(), share(count, n, 3)); err != nil {
			t.Fatal(err)
		}
	}
	var sum, chats uint64
	for shard := range f.shards {
		s, err := r.js.Stream(t.Context(), streams.LogStream(shard))
		if err != nil {
			t.Fatal(err)
		}
		state := s.CachedInfo().State
		if state.Msgs < count/4-3 || state.Msgs > count/4+3 {
			t.Errorf("shard %d has %d of %d commits", shard, state.Msgs, count)
		}
		sum, chats = sum+state.Msgs, chats+state.NumSubjects
	}
	if sum != count || chats != count {
		t.Errorf("the log has %d commits of %d chats, want %d of as many", sum, chats, count)
	}
}

func TestFillingAFullLogFails(t *testing.T) {
	t.Parallel()

	r := newBareRig(t)
	s, err := r.js.Stream(t.Context(), streams.LogStream(0))
	if err != nil {
		t.Fatal(err)
	}
	cfg := s.CachedInfo().Config
	cfg.MaxMsgs = 3
	if _, err := r.js.UpdateStream(t.Context(), cfg); err != nil {
		t.Fatal(err)
	}
	f, err := r.newFiller()
	if err != nil {
		t.Fatal(err)
	}
	defer f.close()
	if err := f.write(t.Context(), 100); err == nil {
		t.Error("100 commits were written to a log with room for 3 in one shard")
	}
}

type headAt uint64

func (h headAt) Last(context.Context, events.Key) (protocol.Stored, error) {
	return protocol.Stored{Sequence: uint64(h)}, nil
}

func TestTheSnapshotOfTheHeadIsAwaited(t *testing.T) {
	t.Parallel()

	r := newBareRig(t)
	k := events.Key{Tenant: client.DefaultTenant, Chat: client.NewID()}
	kv, err := r.js.KeyValue(t.Context(), streams.SnapshotsBucket)
	if err != nil {
		t.Fatal(err)
	}
	put(t, kv, k, 7)
	got := make(chan uint64, 1)
	go func() {
		content, err := r.snapshotAtHead(t.Context(), headAt(9), k)
		if err != nil {
			t.Error(err)
		}
		sequence, _ := snapshotSequence(content)
		got <- sequence
	}()
	put(t, kv, k, 8)
	put(t, kv, k, 9)
	if sequence := <-got; sequence != 9 {
		t.Errorf("waited for the snapshot of %d, want that of 9", sequence)
	}
}

func put(t *testing.T, kv jetstream.KeyValue, k events.Key, sequence int) {
	t.Helper()
	content := s2.Encode(nil, fmt.Appendf(nil, `{"seq":%d,"state":{}}`, sequence))
	if _, err := kv.Put(t.Context(), streams.SnapshotKey(k, chat.FoldVersion), content); err != nil {
		t.Fatal(err)
	}
}
