package index

import (
	"maps"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
)

// What is read ahead of the file is bounded by its bytes, and one message always goes.
func TestNoMoreIsReadAheadThanThereIsRoomFor(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		a := newAhead()
		added := 0
		go func() {
			for _, bytes := range []int{events.MaxHistoryBytes, 1, 2} {
				if err := a.add(t.Context(), bytes); err != nil {
					return
				}
				added++
			}
		}()
		synctest.Wait()
		if added != 1 {
			t.Fatalf("%d messages are on their way, want the first alone", added)
		}
		a.take(events.MaxHistoryBytes)
		synctest.Wait()
		if added != 3 {
			t.Errorf("%d messages are on their way, want all", added)
		}
	})
}

// What a fork goes on from, and texts that lie apart, take room as what is stored does.
func TestWhatLiesApartIsCounted(t *testing.T) {
	t.Parallel()
	origin := chatgen.New(events.Key{Tenant: "acme", Chat: "origin"})
	origin.Create(events.Settings{Model: "large", Tools: &[]string{}})
	origin.Send(strings.Repeat("a long story ", 10_000))
	origin.Answer(events.Text("good"))
	fork := origin.ForkAt(events.Key{Tenant: "acme", Chat: "fork"}, origin.State.Rev())
	l := &logs{blobs: fork.Blobs}
	maps.Copy(l.blobs, origin.Blobs)
	body := fork.Bytes[0]
	i, err := read(t.Context(), 0, protocol.Stored{Subject: protocol.LogSubject(0, fork.Key()), Sequence: 1, Body: body}, l)
	if err != nil || len(i.trouble) > 0 {
		t.Fatalf("%v, %v", err, i.trouble)
	}
	history := i.commit.Events[0].(events.ChatInherited).History
	if least := len(body) + len(l.blobs[history]) + maxSaidBytes - 10; i.bytes < least {
		t.Errorf("%d bytes are counted, want %d at least", i.bytes, least)
	}
}

// However many chats have moved since a list was begun, what is held of them is bounded
// and the nearest.
func TestTheNearestOfAllThatHaveMovedAreHeld(t *testing.T) {
	t.Parallel()
	for _, newer := range []bool{false, true} {
		sp := span{limit: 2, newer: newer}
		var list []ranked
		for at := range int64(10) {
			list = append(list, ranked{rank: rank{at: (at * 7) % 10}})
		}
		var got []int64
		for _, r := range sp.nearest(list) {
			got = append(got, r.at)
		}
		want := []int64{9, 8, 7}
		if newer {
			want = []int64{0, 1, 2}
		}
		if !slices.Equal(got, want) {
			t.Errorf("newer %v: %v, want %v", newer, got, want)
		}
	}
}
