package client_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// What is read by pages is the whole log, and fits what the feed has shown.
func TestTheCommitsOfAChat(t *testing.T) {
	t.Parallel()
	i := install(t)
	chat := i.create()
	for n := range 130 { // more than a page
		if _, err := i.client.Command(t.Context(), chat, protocol.Rename{V: protocol.Version, Title: fmt.Sprint("title ", n)}); err != nil {
			t.Fatal(err)
		}
	}
	for _, tt := range []struct{ after, through, first, last uint64 }{
		{0, 0, 1, 131},
		{0, 1_000, 1, 131},
		{1, 101, 2, 101},
		{130, 0, 131, 131},
		{131, 0, 0, 0},
	} {
		var first, last uint64
		for c, err := range i.client.Commits(t.Context(), chat, tt.after, tt.through) {
			if err != nil {
				t.Fatal(err)
			}
			if first == 0 {
				first = c.Rev
			}
			last = c.Rev
		}
		if first != tt.first || last != tt.last {
			t.Errorf("behind %d through %d: %d to %d, want %d to %d", tt.after, tt.through, first, last, tt.first, tt.last)
		}
	}
	if _, err := i.client.Command(t.Context(), chat, protocol.Erase{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	no := func(chat string) events.Code {
		for _, err := range i.client.Commits(t.Context(), chat, 0, 0) {
			if q, ok := errors.AsType[*client.QueryError](err); ok {
				return q.Code
			}
		}
		return ""
	}
	for no(chat) == "" { // it is erased once nothing is open
		if t.Context().Err() != nil {
			t.Fatal("it is not erased")
		}
	}
	if got := no(chat); got != events.CodeErased {
		t.Errorf("an erased chat: code %q", got)
	}
	if got := no("nobody"); got != events.CodeUnknownChat {
		t.Errorf("a chat that does not exist: code %q", got)
	}
}

func TestCommitsThatDoNotFollowEachOtherAreNotGiven(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		rev, after uint64
		given      int
	}{
		"the second goes on from another first": {rev: 2, after: 0, given: 1},
		"the second is missing":                 {rev: 3, after: 0, given: 1},
		"the first that is wanted is missing":   {rev: 3, after: 1, given: 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			given, err := forged(t, tt.rev, tt.after)
			if err == nil || given != tt.given {
				t.Errorf("%d commits, error %v; want %d, and that the next does not follow", given, err, tt.given)
			}
		})
	}
}

// forged is how many commits behind after are given of a chat whose second one is a
// forgery that says it is of that rev.
func forged(t *testing.T, rev, after uint64) (given int, err error) {
	t.Helper()
	i := install(t)
	chat := i.create()
	k := i.client.Key(chat)
	body, err := events.Encode(events.Commit{
		ID: client.NewID(), Key: k, Rev: rev, Prev: events.Hash([]byte("another")), At: events.At(time.Now()),
		Cause: events.Cause{Kind: events.CausedByCommand, ID: client.NewID()}, Events: []events.Event{events.ChatArchived{}},
	})
	if err != nil {
		t.Fatal(err)
	}
	const shards = 4
	if _, err := i.nc.Request(protocol.LogSubject(protocol.Shard(k, shards), k), body, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	for _, err = range i.client.Commits(t.Context(), chat, after, 0) {
		if err == nil {
			given++
		}
	}
	return given, err
}
