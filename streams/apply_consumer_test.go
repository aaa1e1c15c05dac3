package streams_test

import (
	"context"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

func TestAConsumerThatWasChangedByHandIsPutBack(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{})
	c, err := js.Consumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer)
	if err != nil {
		t.Fatal(err)
	}
	config := c.CachedInfo().Config
	config.MaxDeliver, config.BackOff = 3, []time.Duration{time.Second, 2 * time.Second}
	if _, err := js.UpdateConsumer(t.Context(), streams.CommandsStream, config); err != nil {
		t.Fatal(err)
	}
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{}),
		"update COMMANDS.orchestrator: ack_wait 1s → 15s, max_deliver 3 → -1, backoff 2 → 0")
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{}))
}

func TestTheAckWaitIsASetting(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	topology := mustTopology(t)
	o := streams.ApplyOptions{AckWait: time.Second}
	mustApply(t, topology, js, o)
	c, err := topology.EnsureToolConsumer(t.Context(), js, "files", o)
	if err != nil {
		t.Fatal(err)
	}
	if got := c.CachedInfo().Config.AckWait; got != time.Second {
		t.Errorf("of the group: %s", got)
	}
	planned(t, mustApply(t, topology, js, streams.ApplyOptions{AckWait: 2 * time.Second}),
		"update COMMANDS.orchestrator: ack_wait 1s → 2s",
		"update WORK.chat: ack_wait 1s → 2s",
		"update TIMERS.due: ack_wait 1s → 2s",
	)
}

func TestAPoolAndAGroupGetTheirOwnWorkOnly(t *testing.T) {
	t.Parallel()
	s := bareServer(t, nil)
	js := clientOf(t, s)
	topology := mustTopology(t)
	mustApply(t, topology, js, streams.ApplyOptions{})

	var wg sync.WaitGroup
	for range 4 { // whoever comes first makes it
		other := clientOf(t, s)
		wg.Go(func() {
			for _, ensure := range []func(context.Context, jetstream.JetStream, string, streams.ApplyOptions) (jetstream.Consumer, error){
				topology.EnsureModelConsumer, topology.EnsureToolConsumer,
			} {
				for _, name := range []string{"a", "b"} {
					if _, err := ensure(t.Context(), other, name, streams.ApplyOptions{}); err != nil {
						t.Error(err)
					}
				}
			}
		})
	}
	wg.Wait()

	step, call := events.StepID{Turn: 1, Step: 1}, events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	for _, name := range []string{"a", "b"} {
		publish(t, js, protocol.ModelWorkSubject(name, someChat, step, 1))
		publish(t, js, protocol.ToolWorkSubject(name, someChat, call))
	}
	for consumer, subject := range map[string]string{
		streams.ModelConsumer("a"): protocol.ModelWorkSubject("a", someChat, step, 1),
		streams.ModelConsumer("b"): protocol.ModelWorkSubject("b", someChat, step, 1),
		streams.ToolConsumer("a"):  protocol.ToolWorkSubject("a", someChat, call),
		streams.ToolConsumer("b"):  protocol.ToolWorkSubject("b", someChat, call),
	} {
		c, err := js.Consumer(t.Context(), streams.WorkStream, consumer)
		if err != nil {
			t.Fatal(err)
		}
		batch, err := c.FetchNoWait(5)
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for m := range batch.Messages() {
			got = append(got, m.Subject())
		}
		if diff := cmp.Diff([]string{subject}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", consumer, diff)
		}
	}
	for _, bad := range []string{"", "a.b", "*", "A", "a b"} {
		if _, err := topology.EnsureToolConsumer(t.Context(), js, bad, streams.ApplyOptions{}); err == nil {
			t.Errorf("group %q was taken", bad)
		}
	}
}

func TestWhoMayNotMakeAConsumerCanStillFindIt(t *testing.T) {
	t.Parallel()
	s := bareServer(t, func(o *server.Options) {
		o.Users = []*server.User{
			{Username: "all", Password: "all"},
			{Username: "runner", Password: "runner", Permissions: &server.Permissions{
				Publish: &server.SubjectPermission{Deny: []string{"$JS.API.CONSUMER.CREATE.>", "$JS.API.CONSUMER.DURABLE.CREATE.>"}},
			}},
		}
	})
	operator, runner := clientOf(t, s, nats.UserInfo("all", "all")), clientOf(t, s, nats.UserInfo("runner", "runner"))
	topology := mustTopology(t)
	mustApply(t, topology, operator, streams.ApplyOptions{})
	if _, err := topology.EnsureToolConsumer(t.Context(), operator, "files", streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	if _, err := topology.EnsureToolConsumer(t.Context(), runner, "files", streams.ApplyOptions{}); err != nil {
		t.Error(err)
	}
}
