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
	await(t, func() bool { return occurrences(t, dir, secret) == 0 })
	x.stop()
	again := t.TempDir()
	follow(t, l, again).stop()
	if diff := cmp.Diff(dump(t, dir), dump(t, again)); diff != "" {
		t.Errorf("rows (-erased later +built afterwards):\n%s", diff)
	}
}

// Nothing of an erased chat outlasts it in what SQLite keeps beside a file, when somebody
// reads just then, and when the process is killed before it has tidied up.
func TestErasedWordsAreTidiedUpLater(t *testing.T) {
	t.Parallel()
	l := &logs{}
	const secret = "Rumpelstilzchen"
	k := named(1)
	l.write(t, k, noon, "user:ann", created(secret), saying("i", secret+" said it"))
	dir, killed := t.TempDir(), t.TempDir()
	x := follow(t, l, dir)
	reading, err := x.current.read.BeginTx(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	var n int
	if err := reading.QueryRowContext(t.Context(), `SELECT count(*) FROM chats`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	l.write(t, k, noon+1, "", events.ChatErased{})
	x.caughtUp(l)
	if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	if err := reading.Rollback(); err != nil {
		t.Fatal(err)
	}
	await(t, func() bool { return occurrences(t, dir, secret) == 0 })

	if occurrences(t, killed, secret) == 0 {
		t.Fatal("the killed process had tidied up")
	}
	follow(t, l, killed)
	await(t, func() bool { return occurrences(t, killed, secret) == 0 })
}

// A build that was killed leaves a file to which no erasure comes: it does not stay.
func TestWhatAKilledBuildLeftDoesNotStay(t *testing.T) {
	t.Parallel()
	l, dir := &logs{}, t.TempDir()
	l.write(t, named(1), noon, "user:ann", created("a title"))
	left := folder(dir).building()
	for _, beside := range besides {
		if err := os.WriteFile(left+beside, []byte("what somebody said"), lockMode); err != nil {
			t.Fatal(err)
		}
	}
	follow(t, l, dir)
	if n := occurrences(t, dir, "somebody"); n > 0 {
		t.Errorf("%d files of the build are still there", n)
	}
}

// A build that runs meanwhile keeps its file.
func TestABuildThatRunsIsLeftAlone(t *testing.T) {
	t.Parallel()
	l, dir := &logs{}, t.TempDir()
	l.write(t, named(1), noon, "user:ann", created("a title"))
	lock, err := folder(dir).lock(buildLock)
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if err := os.WriteFile(folder(dir).building(), []byte("what somebody said"), lockMode); err != nil {
		t.Fatal(err)
	}
	follow(t, l, dir)
	if occurrences(t, dir, "somebody") == 0 {
		t.Error("the file of a build that runs was removed")
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
