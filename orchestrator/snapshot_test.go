package orchestrator

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

func TestWaitingSnapshotsAreBounded(t *testing.T) {
	t.Parallel()

	of := func(name string, bytes int64) entry {
		k := events.Key{Tenant: "acme", Chat: name}
		return entry{state: chat.State{}.Apply(events.Commit{Key: k, Rev: 1, Events: []events.Event{events.ChatCreated{}}}, "hash"), bytes: bytes}
	}
	s := newSnapshots()
	if !s.offer(of("large", maxWaitingBytes+1)) {
		t.Error("one that is alone was not taken")
	}
	if s.offer(of("next", 1)) {
		t.Error("another was taken beside one that is too large for others")
	}
	if !s.offer(of("large", maxWaitingBytes-1)) {
		t.Error("a newer state was not taken in place of an older one")
	}
	if !s.offer(of("next", 1)) || s.offer(of("third", 1)) {
		t.Error("the room that the newer one left was not given to exactly one")
	}
	for range 2 {
		s.take((<-s.order).key)
	}
	if s.bytes != 0 || len(s.newest) != 0 || !s.offer(of("third", maxWaitingBytes)) {
		t.Errorf("%d bytes of %d chats are left when all were taken", s.bytes, len(s.newest))
	}
}
