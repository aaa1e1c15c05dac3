package streams_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// One server of three dies, the one that leads the queue. A fetch that waits
// there and whoever appends must need no help.
func TestTheBusGoesOnWithoutOneOfThreeServers(t *testing.T) {
	t.Parallel()
	servers := cluster(t)
	js := clientOf(t, servers[0])
	awaitLeader(t, js)
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{AckWait: testAckWait})
	consumer, err := js.Consumer(t.Context(), streams.CommandsStream, streams.CommandsConsumer)
	if err != nil {
		t.Fatal(err)
	}
	leader := consumer.CachedInfo().Cluster.Leader
	var alive, dead int
	for i := range servers {
		if fmt.Sprintf("node-%d", i) == leader {
			dead = i
		} else {
			alive = i
		}
	}
	js = clientOf(t, servers[alive])
	s := stage{Bus: openBus(t, servers[alive]), server: servers[alive], js: js}
	sequences := grow(t, s.Log, someChat, 5)
	done, _ := fetchSoon(t, s, 10)

	if err := servers[dead].Close(); err != nil {
		t.Fatal(err)
	}
	eventually(t, "a command is stored", func() bool {
		_, err := js.Publish(t.Context(), protocol.CommandSubject(someChat, "send"), []byte("{}"))
		return err == nil
	})
	if got := <-done; got.err != nil || len(got.deliveries) == 0 {
		t.Errorf("fetched %d commands and %v, want what was stored", len(got.deliveries), got.err)
	}
	for shard := range s.Log.Shards() { // each has a leader of its own
		k := chatOf(shard, s.Log.Shards())
		eventually(t, fmt.Sprintf("shard %d takes commits", shard), func() bool {
			_, err := s.Log.Append(t.Context(), protocol.Append{Key: k, Body: []byte("{}")})
			return err == nil || errors.Is(err, events.ErrConflict) // stored by a try that was not answered
		})
	}
	eventually(t, "the log is read whole", func() bool {
		got, err := readAll(t, s.Log, someChat, 0, sequences[4])
		return err == nil && len(got) == len(sequences)
	})
}

// chatOf is a chat in the given shard.
func chatOf(shard, shards int) events.Key {
	for i := 0; ; i++ {
		k := events.Key{Tenant: "default", Chat: fmt.Sprint("of-shard-", i)}
		if protocol.Shard(k, shards) == shard {
			return k
		}
	}
}
