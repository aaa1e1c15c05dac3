package streams_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

var errEnough = errors.New("enough")

// from is nothing but the message that each stream is to be read from.
func from(shard int, sequence uint64, shards int) []uint64 {
	list := make([]uint64, shards)
	list[shard] = sequence
	return list
}

// Whoever follows the logs gets every commit of every stream in the stream's order,
// first what is there, then what comes, from the place it names on.
func TestTheCommitsOfAllStreamsAreFollowed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	shards := s.Log.Shards()
	want := make([][]string, shards)
	var keys []events.Key
	for n := range 20 {
		k := events.Key{Tenant: "default", Chat: fmt.Sprint("chat", n)}
		keys = append(keys, k)
		for _, sequence := range grow(t, s.Log, k, 5) {
			shard := protocol.Shard(k, shards)
			want[shard] = append(want[shard], fmt.Sprint(k.Chat, " ", sequence))
		}
	}
	come := make(chan string, 1_000)
	ready := make(chan struct{})
	during(t, func(ctx context.Context) error {
		return s.Log.Follow(ctx, make([]uint64, shards), func(shard int, m protocol.Stored) error {
			_, k, err := protocol.ParseLogSubject(m.Subject)
			come <- fmt.Sprint(shard, " ", k.Chat, " ", m.Sequence)
			return err
		}, func() error { close(ready); return nil })
	})
	<-ready
	if len(come) != 100 {
		t.Errorf("%d commits came before ready, want 100", len(come))
	}
	got := make([][]string, shards)
	take := func() {
		var shard int
		var chat, sequence string
		if _, err := fmt.Sscan(<-come, &shard, &chat, &sequence); err != nil {
			t.Fatal(err)
		}
		got[shard] = append(got[shard], chat+" "+sequence)
	}
	for range 100 {
		take()
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("commits (-stored +followed):\n%s", diff)
	}
	k := keys[0]
	shard := protocol.Shard(k, shards)
	last := slices.Max(grow(t, s.Log, k, 1))
	take()
	if newest := got[shard][len(got[shard])-1]; newest != fmt.Sprint(k.Chat, " ", last) {
		t.Errorf("what was stored later came as %s", newest)
	}

	first := uint64(0)
	err := s.Log.Follow(t.Context(), from(shard, last, shards), func(n int, m protocol.Stored) error {
		if n == shard {
			first = m.Sequence
			return errEnough
		}
		return nil
	}, func() error { return nil })
	if !errors.Is(err, errEnough) || first != last {
		t.Errorf("from %d on: began at %d, with %v", last, first, err)
	}
	err = s.Log.Follow(t.Context(), from(shard, last+1, shards), func(int, protocol.Stored) error { return nil }, func() error { return nil })
	if !errors.Is(err, protocol.ErrReplaced) {
		t.Errorf("from behind the end on: %v, want %v", err, protocol.ErrReplaced)
	}
	if err := s.Log.Follow(t.Context(), nil, nil, nil); err == nil {
		t.Error("places of other streams than there are: no error")
	}
}

// An empty log is followed: ready comes at once.
func TestAnEmptyLogIsFollowed(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	err := s.Log.Follow(t.Context(), make([]uint64, s.Log.Shards()), func(int, protocol.Stored) error { return nil }, func() error { return errEnough })
	if !errors.Is(err, errEnough) {
		t.Errorf("ended with %v", err)
	}
}
