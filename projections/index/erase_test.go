package index

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/listing"
)

// An erased chat is in no answer, its words are in no file, and a rebuild that meets
// its tombstone first comes to the same rows.
func TestAnErasedChatVanishes(t *testing.T) {
	t.Parallel()
	l := &logs{}
	const secret = "Rumpelstilzchen"
	for n := range 3 {
		l.write(t, named(n), noon, "user:ann", created("a title"), saying("i", "something ordinary"))
	}
	k := named(1)
	l.write(t, k, noon+1, "user:ann", saying("j", secret+" said it"), events.ChatTitled{Title: secret},
		events.StepRequested{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Model: secret, Purpose: events.PurposeAnswer},
		events.StepCompleted{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1, Usage: events.Usage{Input: 5}},
		events.TurnFailed{Turn: 1, Message: secret})
	dir := t.TempDir()
	x := follow(t, l, dir)
	if n := occurrences(t, dir, secret); n == 0 {
		t.Fatal("the files never had what is to be erased")
	}
	l.write(t, k, noon+2, "user:ann", events.ChatEraseRequested{})
	l.write(t, k, noon+3, "", events.ChatErased{})
	l.delete(k, 4)
	l.write(t, k, noon+4, "", events.ContentDeleted{})
	x.caughtUp(l)

	for _, list := range [][]listing.Chat{
		every(t, x.Index, "acme", listing.ChatsRequest{}, nil),
		ask[listing.Chats](t, x.Index, "acme", listing.QueryChats, listing.ChatsRequest{Chat: k.Chat}).Chats,
	} {
		for _, c := range list {
			if c.Chat == k.Chat {
				t.Errorf("it is listed: %+v", c)
			}
		}
	}
	if hits := ask[listing.Hits](t, x.Index, "acme", listing.QuerySearch, listing.SearchRequest{Text: secret}); len(hits.Hits) > 0 {
		t.Errorf("it is found: %+v", hits)
	}
	if open := ask[listing.Open](t, x.Index, "acme", listing.QueryOpen, listing.OpenRequest{}); len(open.Open) > 0 {
		t.Errorf("it waits: %+v", open)
	}
	if used := ask[listing.Usage](t, x.Index, "acme", listing.QueryUsage, listing.UsageRequest{By: listing.ByModel}); used.Total.Attempts > 0 {
		t.Errorf("it is counted: %+v", used)
	}
	if n := occurrences(t, dir, secret); n > 0 {
		t.Errorf("its words stand %d times in the files", n)
	}
	x.stop()
	again := t.TempDir()
	follow(t, l, again).stop()
	if diff := cmp.Diff(dump(t, dir), dump(t, again)); diff != "" {
		t.Errorf("rows (-erased later +built afterwards):\n%s", diff)
	}
}

// occurrences is how often a word stands in the bytes of the files of a folder.
func occurrences(t *testing.T, dir, word string) int {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, "*"))
	if err != nil {
		t.Fatal(err)
	}
	count := 0
	for _, file := range files {
		b, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		count += bytes.Count(bytes.ToLower(b), bytes.ToLower([]byte(word)))
	}
	return count
}
