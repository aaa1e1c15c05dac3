package streams_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

func TestApplyingTwiceChangesNothing(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)

	first := mustApply(t, topology, js, streams.ApplyOptions{})
	for _, c := range first {
		if c.Action != streams.Create {
			t.Errorf("an empty server needs only creating: %s", c)
		}
	}
	if len(first) == 0 {
		t.Fatal("nothing was created")
	}
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{}))
	shards, err := streams.CheckLog(t.Context(), js)
	if err != nil || shards != topology.Shards() {
		t.Errorf("check gives %d shards, %v", shards, err)
	}
}

func TestOneServerKeepsOneCopyAndAClusterThree(t *testing.T) {
	t.Parallel()
	topology := mustTopology(t)

	js := clientOf(t, bareServer(t, nil))
	mustApply(t, topology, js, streams.ApplyOptions{})
	if c := streamConfig(t, js, streams.WorkStream); c.Replicas != 1 || c.PersistMode != jetstream.AsyncPersistMode {
		t.Errorf("one server: %d replicas, %s", c.Replicas, c.PersistMode)
	}

	js = clientOf(t, cluster(t)[0])
	awaitLeader(t, js)
	mustApply(t, topology, js, streams.ApplyOptions{})
	for _, want := range topology.StreamConfigs(3) {
		if c := streamConfig(t, js, want.Name); c.Replicas != 3 || c.PersistMode != jetstream.DefaultPersistMode {
			t.Errorf("cluster: %s has %d replicas, %s", c.Name, c.Replicas, c.PersistMode)
		}
	}
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{}))
}

func TestSeveralProcessesMayApplyAtOnce(t *testing.T) {
	t.Parallel()
	const processes = 6
	s := bareServer(t, nil)
	topology := mustTopology(t)
	clients := make([]jetstream.JetStream, processes)
	for i := range clients {
		clients[i] = clientOf(t, s)
	}

	// From nothing, then over a stream that must be made anew.
	for _, prepare := range []func(){
		func() {},
		func() {
			if err := clients[0].DeleteStream(t.Context(), streams.WorkStream); err != nil {
				t.Fatal(err)
			}
			config := topologyStream(t, topology, streams.WorkStream)
			config.PersistMode = jetstream.DefaultPersistMode
			if _, err := clients[0].CreateStream(t.Context(), config); err != nil {
				t.Fatal(err)
			}
		},
	} {
		prepare()
		var wg sync.WaitGroup
		for _, js := range clients {
			wg.Go(func() {
				if _, err := topology.Apply(t.Context(), js, streams.ApplyOptions{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		planned(t, mustApply(t, topology, clients[0], streams.ApplyOptions{}))
	}
}

func TestAnotherNumberOfShardsIsRefused(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	publish(t, js, protocol.LogSubject(3, someChat))

	for _, n := range []string{"8", "2"} {
		other := mustTopology(t, "shards: 4", "shards: "+n)
		for name, try := range map[string]func() (streams.Plan, error){
			"diff":  func() (streams.Plan, error) { return other.Diff(t.Context(), js, streams.ApplyOptions{}) },
			"apply": func() (streams.Plan, error) { return other.Apply(t.Context(), js, streams.ApplyOptions{}) },
			"apply, everything allowed": func() (streams.Plan, error) {
				return other.Apply(t.Context(), js, streams.ApplyOptions{Shrink: true, Repair: true})
			},
		} {
			plan, err := try()
			wrong, ok := errors.AsType[*streams.ShardsError](err)
			if !ok || wrong.Server != "4" || len(plan) > 0 {
				t.Errorf("%s to %s shards: plan %v, error %v", name, n, plan, err)
			}
		}
	}
	if shards, err := streams.CheckLog(t.Context(), js); err != nil || shards != 4 {
		t.Errorf("check gives %d shards, %v", shards, err)
	}
	if n := storedIn(t, js, streams.LogStream(3)); n != 1 {
		t.Errorf("%d commits are stored, want 1", n)
	}
}

func TestNothingIsMadeSmallerUnasked(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})

	smaller := mustTopology(t,
		"max_bytes: 1GiB", "max_bytes: 512MiB", // COMMANDS
		"max_age: 15m", "max_age: 30m", // FEED: larger
	)
	kept := "keep COMMANDS: max_bytes 1GiB → 512MiB (nothing is made smaller unasked)"
	planned(t, mustApply(t, smaller, js, streams.ApplyOptions{}), "update FEED: max_age 15m0s → 30m0s", kept)
	planned(t, mustApply(t, smaller, js, streams.ApplyOptions{}), kept)
	if c := streamConfig(t, js, streams.CommandsStream); c.MaxBytes != 1<<30 {
		t.Errorf("limit is %d", c.MaxBytes)
	}

	planned(t, mustApply(t, smaller, js, streams.ApplyOptions{Shrink: true}), "update COMMANDS: max_bytes 1GiB → 512MiB")
	if c := streamConfig(t, js, streams.CommandsStream); c.MaxBytes != 512<<20 {
		t.Errorf("limit is %d", c.MaxBytes)
	}
	planned(t, mustApply(t, mustTopology(t, "max_age: 15m", "max_age: 30m"), js, streams.ApplyOptions{}),
		"update COMMANDS: max_bytes 512MiB → 1GiB")
}

func TestASubjectThatIsNotOursIsRefused(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{})
	editStream(t, js, streams.DeadStream, func(c *jetstream.StreamConfig) { c.Subjects = append(c.Subjects, "theirs") })
	_, err := topology.Apply(t.Context(), js, streams.ApplyOptions{})
	if _, ok := errors.AsType[*streams.RefusedError](err); !ok || !strings.Contains(err.Error(), "theirs") {
		t.Errorf("error is %v", err)
	}
	mustApply(t, topology, js, streams.ApplyOptions{Shrink: true})
}

func TestWhatFollowsFromTheLogIsMadeAnew(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{})
	if _, err := topology.EnsureModelConsumer(t.Context(), js, "default", streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	publish(t, js, protocol.CommandSubject(someChat, "send"))
	publish(t, js, protocol.ChatWorkSubject(someChat, "report-1-1-1"))

	synced := mustTopology(t, "persist_mode: async # ", "persist_mode: default # ")
	planned(t, mustApply(t, synced, js, streams.ApplyOptions{}), "recreate WORK: persist_mode Async → Default")
	if c := streamConfig(t, js, streams.WorkStream); c.PersistMode != jetstream.DefaultPersistMode {
		t.Errorf("mode is %s", c.PersistMode)
	}
	if n := storedIn(t, js, streams.CommandsStream); n != 1 {
		t.Errorf("%d commands are stored, want 1", n)
	}
	if _, err := js.Consumer(t.Context(), streams.WorkStream, streams.ModelConsumer("default")); err != nil {
		t.Errorf("the pool's consumer is gone: %v", err)
	}
}

func TestWhatCannotBeMadeAnewIsLeftAlone(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	config := topologyStream(t, topology, streams.CommandsStream)
	config.Storage = jetstream.MemoryStorage
	if _, err := js.CreateStream(t.Context(), config); err != nil {
		t.Fatal(err)
	}
	publish(t, js, protocol.CommandSubject(someChat, "send"))

	_, err := topology.Apply(t.Context(), js, streams.ApplyOptions{Shrink: true, Repair: true})
	refused, ok := errors.AsType[*streams.RefusedError](err)
	if !ok || len(refused.Changes) != 1 || refused.Changes[0].Stream != streams.CommandsStream {
		t.Fatalf("error is %v", err)
	}
	if n := storedIn(t, js, streams.CommandsStream); n != 1 {
		t.Errorf("%d commands are stored, want 1", n)
	}
	if _, err := streams.CheckLog(t.Context(), js); err != nil {
		t.Errorf("the rest was not made: %v", err)
	}
}

// B59: a log that may drop commits must not be used, nor silently mended.
func TestB59ALogThatCouldForgetIsRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name string
		edit func(*jetstream.StreamConfig)
		says string
	}{
		{"discard old", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }, "discard old"},
		{"max age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }, "max_age 1h0m0s"},
		{"max messages", func(c *jetstream.StreamConfig) { c.MaxMsgs = 10 }, "max_msgs 10"},
		{"max messages of a chat", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 1 }, "max_msgs_per_subject 1"},
		{"rollup", func(c *jetstream.StreamConfig) { c.AllowRollup, c.DenyPurge = true, false }, "rollup allowed"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			js := clientOf(t, bareServer(t, nil))
			// Purge that is denied cannot be allowed again, and rollup needs it:
			// the streams of this test are made by hand.
			topology := mustTopology(t)
			for _, c := range topology.StreamConfigs(1) {
				if c.Name == streams.LogStream(1) {
					tt.edit(&c)
				}
				if _, err := js.CreateStream(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			_, checked := streams.CheckLog(t.Context(), js)
			_, applied := topology.Apply(t.Context(), js, streams.ApplyOptions{Shrink: true})
			for _, err := range []error{checked, applied} {
				unsafe, ok := errors.AsType[*streams.UnsafeLogError](err)
				if !ok || unsafe.Stream != streams.LogStream(1) || !strings.Contains(err.Error(), tt.says) {
					t.Fatalf("error is %v, want one about %s", err, tt.says)
				}
			}
			mustApply(t, topology, js, streams.ApplyOptions{Repair: true})
			if _, err := streams.CheckLog(t.Context(), js); err != nil {
				t.Errorf("not repaired: %v", err)
			}
		})
	}
}

func TestALogThatIsNotThereIsSaidSo(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	if _, err := streams.CheckLog(t.Context(), js); !errors.Is(err, streams.ErrNoStreams) {
		t.Errorf("error is %v, want %v", err, streams.ErrNoStreams)
	}
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	if err := js.DeleteStream(t.Context(), streams.LogStream(2)); err != nil {
		t.Fatal(err)
	}
	if _, err := streams.CheckLog(t.Context(), js); !errors.Is(err, jetstream.ErrStreamNotFound) || !errors.Is(err, streams.ErrNoStreams) || !strings.Contains(err.Error(), "LOG_2") {
		t.Errorf("error is %v, want one that names LOG_2", err)
	}
}

func TestWhatOperatorsAddStays(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{})
	editStream(t, js, streams.LogStream(0), func(c *jetstream.StreamConfig) {
		c.Description = "on the fast disks"
		c.Compression = jetstream.S2Compression
		c.Metadata["team"] = "chat"
	})
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{}))

	mustApply(t, mustTopology(t, "max_bytes: 1GiB\n    max_msg_size: 576KiB\n    allow", "max_bytes: 2GiB\n    max_msg_size: 576KiB\n    allow"),
		js, streams.ApplyOptions{})
	c := streamConfig(t, js, streams.LogStream(0))
	if c.MaxBytes != 2<<30 || c.Description != "on the fast disks" || c.Compression != jetstream.S2Compression || c.Metadata["team"] != "chat" {
		t.Errorf("after an update: %+v", c)
	}
}

func TestARefusalOfTheServerSaysWhatToDo(t *testing.T) {
	t.Parallel()
	t.Run("no room", func(t *testing.T) {
		t.Parallel()
		js := clientOf(t, bareServer(t, func(o *server.Options) { o.JetStreamMaxStore = 512 << 20 }))
		_, err := mustTopology(t).Apply(t.Context(), js, streams.ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), "create COMMANDS") || !strings.Contains(err.Error(), "max_file_store") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("subjects of somebody else", func(t *testing.T) {
		t.Parallel()
		js := clientOf(t, bareServer(t, nil))
		if _, err := js.CreateStream(t.Context(), jetstream.StreamConfig{Name: "AUDIT", Subjects: []string{"everturn.>"}}); err != nil {
			t.Fatal(err)
		}
		_, err := mustTopology(t).Apply(t.Context(), js, streams.ApplyOptions{})
		if err == nil || !strings.Contains(err.Error(), "not ours") {
			t.Errorf("error is %v", err)
		}
	})
	t.Run("account without storage", func(t *testing.T) {
		t.Parallel()
		js := clientOf(t, bareServer(t, func(o *server.Options) {
			bare := server.NewAccount("BARE")
			o.Accounts = []*server.Account{bare}
			o.Users = []*server.User{{Username: "bare", Password: "bare", Account: bare}}
		}), nats.UserInfo("bare", "bare"))
		_, applied := mustTopology(t).Apply(t.Context(), js, streams.ApplyOptions{})
		_, checked := streams.CheckLog(t.Context(), js)
		for _, err := range []error{applied, checked} {
			if err == nil || !strings.Contains(err.Error(), "enable it for the account") {
				t.Errorf("error is %v", err)
			}
		}
	})
}

func TestThePlanIsReadable(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	editStream(t, js, streams.FeedStream, func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardNew })
	editStream(t, js, streams.TimersStream, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 })
	plan, err := mustTopology(t).Diff(t.Context(), js, streams.ApplyOptions{})
	if err != nil {
		t.Fatal(err)
	}
	want := "update TIMERS: max_bytes 1MiB → 256MiB\nupdate FEED: discard new → old"
	if plan.String() != want {
		t.Errorf("plan is\n%s\nwant\n%s", plan, want)
	}
	planned(t, mustApply(t, mustTopology(t), js, streams.ApplyOptions{}), strings.Split(want, "\n")...)
}
