package streams_test

import (
	"errors"
	"testing"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

func TestB59AFullLogDropsNothingAndWorksAgainAfterRoomWasMade(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	stream := streams.LogStream(protocol.Shard(someChat, s.Log.Shards()))
	first := grow(t, s.Log, someChat, 1)[0]
	editStream(t, s.js, stream, func(c *jetstream.StreamConfig) { c.MaxBytes = 64 << 10 })
	body := make([]byte, 16<<10)
	fence := first
	var err error
	for range 10 {
		var sequence uint64
		if sequence, err = s.Log.Append(t.Context(), protocol.Append{Key: someChat, Fence: fence, Body: body}); err != nil {
			break
		}
		fence = sequence
	}
	if !errors.Is(err, protocol.ErrStorageFull) || errors.Is(err, events.ErrConflict) {
		t.Fatalf("a full log answers %v, want that storage is full", err)
	}
	if got, err := readAll(t, s.Log, someChat, 0, fence); err != nil || got[0] != first {
		t.Errorf("read %v and %v, want all commits from %d on: nothing is dropped to make room", got, err, first)
	}
	editStream(t, s.js, stream, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 20 })
	if _, err := s.Log.Append(t.Context(), protocol.Append{Key: someChat, Fence: fence, Body: body}); err != nil {
		t.Errorf("with room again: %v", err)
	}
}

func TestAFullQueueOfWorkSaysSo(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	editStream(t, s.js, streams.WorkStream, func(c *jetstream.StreamConfig) { c.MaxBytes = 1 << 10 })
	var err error
	for i := 0; i < 20 && err == nil; i++ {
		_, err = s.Work.Put(t.Context(), protocol.ModelWork{Tenant: someChat.Tenant, Chat: someChat.Chat, Pool: "default", Attempt: i + 1})
	}
	if !errors.Is(err, protocol.ErrStorageFull) {
		t.Errorf("a full queue answers %v, want that storage is full", err)
	}
}
