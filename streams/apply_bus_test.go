package streams_test

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

func TestCommitsAreRepeatedOnTheFeed(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	sub, err := js.Conn().SubscribeSync(protocol.FeedCommitSubject(someChat))
	if err != nil {
		t.Fatal(err)
	}
	for shard := range 4 {
		publish(t, js, protocol.LogSubject(shard, someChat))
		if _, err := sub.NextMsgWithContext(t.Context()); err != nil {
			t.Errorf("shard %d: %v", shard, err)
		}
	}
	if n := storedIn(t, js, streams.FeedStream); n != 0 {
		t.Errorf("the feed stores %d commits, want 0", n)
	}
}

// Whoever may publish one message must not be able to reach others with it.
func TestHeadersThatReachOtherMessagesAreRefused(t *testing.T) {
	t.Parallel()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	for stream, subject := range map[string]string{
		streams.CommandsStream: protocol.CommandSubject(someChat, "send"),
		streams.LogStream(0):   protocol.LogSubject(0, someChat),
		streams.WorkStream:     protocol.ToolWorkSubject("files", someChat, call),
		streams.FeedStream:     protocol.FeedProgressSubject(someChat),
		streams.DeadStream:     protocol.DeadSubject(someChat),
	} {
		publish(t, js, subject)
		before := storedIn(t, js, stream)
		for header, value := range map[string]string{
			"Nats-Rollup":   "all",
			"Nats-TTL":      "1s",
			"Nats-Schedule": "@every 1s",
			"Nats-Incr":     "1",
			"Nats-Batch-Id": "b",
		} {
			m := nats.NewMsg(subject)
			m.Header.Set(header, value)
			if header == "Nats-Batch-Id" {
				m.Header.Set("Nats-Batch-Sequence", "1")
				m.Header.Set("Nats-Batch-Commit", "1")
			}
			if header == "Nats-Schedule" {
				m.Header.Set("Nats-Schedule-Target", subject)
			}
			if _, err := js.PublishMsg(t.Context(), m); err == nil {
				t.Errorf("%s takes %s", stream, header)
			}
		}
		if after := storedIn(t, js, stream); after != before {
			t.Errorf("%s has %d messages after, %d before", stream, after, before)
		}
		s, err := js.Stream(t.Context(), stream)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Purge(t.Context()); err == nil && stream != streams.WorkStream {
			t.Errorf("%s can be purged", stream)
		}
	}
}

func TestTheClientLibraryFindsBucketsAndStore(t *testing.T) {
	t.Parallel()
	ctx := t.Context()
	js := clientOf(t, bareServer(t, nil))
	mustApply(t, mustTopology(t), js, streams.ApplyOptions{})
	for _, name := range []string{streams.SnapshotsBucket, streams.ToolsBucket, streams.AgentsBucket, streams.SkillsBucket, streams.TokensBucket} {
		bucket, err := js.KeyValue(ctx, name)
		if err != nil {
			t.Fatal(err)
		}
		for _, value := range []string{"one", "two"} {
			if _, err := bucket.Put(ctx, "files.read", []byte(value)); err != nil {
				t.Fatal(err)
			}
		}
		entry, err := bucket.Get(ctx, "files.read")
		if err != nil || string(entry.Value()) != "two" {
			t.Errorf("%s gives %v, %v", name, entry, err)
		}
		if err := bucket.Purge(ctx, "files.read"); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	store, err := js.ObjectStore(ctx, streams.BlobsStore)
	if err != nil {
		t.Fatal(err)
	}
	content := make([]byte, 300<<10) // more than one chunk
	if _, err := store.Put(ctx, jetstream.ObjectMeta{Name: "acme/c1/digest"}, bytes.NewReader(content)); err != nil {
		t.Fatal(err)
	}
	got, err := store.GetBytes(ctx, "acme/c1/digest")
	if err != nil || len(got) != len(content) {
		t.Errorf("store gives %d bytes, %v", len(got), err)
	}
}
