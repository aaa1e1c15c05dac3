package verify_test

import (
	"bytes"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// folded is the snapshot of a chat after those of its commits, by their index.
func folded(t *testing.T, c *chatgen.Chat, commits ...int) []byte {
	t.Helper()
	var s chat.State
	for _, i := range commits {
		s = s.Apply(c.Commits[i], events.Hash(c.Bytes[i]))
	}
	b, err := chat.Encode(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// upTo is 0 to n-1.
func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

type snapshotMutation struct {
	name     string
	snapshot func(*testing.T, *chatgen.Chat) []byte
}

// snapshotMutations are those of I19: what is broken is not the log.
func snapshotMutations() []snapshotMutation {
	replaced := func(t *testing.T, c *chatgen.Chat, old, by string) []byte {
		b := folded(t, c, upTo(len(c.Commits))...)
		if !bytes.Contains(b, []byte(old)) {
			t.Fatalf("the snapshot has no %s", old)
		}
		return bytes.Replace(b, []byte(old), []byte(by), 1)
	}
	return []snapshotMutation{
		{"dropped: a commit", func(t *testing.T, c *chatgen.Chat) []byte {
			title := nth[events.ChatArchived](logOf(c), 1).commit
			return folded(t, c, slices.Delete(upTo(title+2), title, title+1)...)
		}},
		{"dropped: half of the bytes", func(t *testing.T, c *chatgen.Chat) []byte {
			b := folded(t, c, upTo(9)...)
			return b[:len(b)/2]
		}},
		{"repeated: a commit", func(t *testing.T, c *chatgen.Chat) []byte {
			title := nth[events.ChatTitled](logOf(c), 1).commit
			return folded(t, c, append(upTo(title+1), title)...)
		}},
		{"swapped: another chat's", func(t *testing.T, _ *chatgen.Chat) []byte {
			bob := chatgen.New(events.Key{Tenant: "acme", Chat: "bob"})
			bob.Create(events.Settings{})
			return folded(t, bob, 0)
		}},
		{"swapped: two commits", func(t *testing.T, c *chatgen.Chat) []byte {
			title := nth[events.ChatTitled](logOf(c), 1).commit
			return folded(t, c, append(upTo(title), title+1, title)...)
		}},
		{"changed: what was said", func(t *testing.T, c *chatgen.Chat) []byte {
			return replaced(t, c, `"text":"one"`, `"text":"won"`)
		}},
		{"changed: what has ended", func(t *testing.T, c *chatgen.Chat) []byte {
			return replaced(t, c, `"ended":"failed"`, `"ended":"completed"`)
		}},
		{"moved: past the log's end", func(t *testing.T, c *chatgen.Chat) []byte {
			last := len(c.Commits)
			c.Command(rename("later"))
			b := folded(t, c, upTo(last+1)...)
			c.Commits, c.Bytes = c.Commits[:last], c.Bytes[:last]
			return b
		}},
	}
}

func TestMutatedSnapshotsAreReported(t *testing.T) {
	t.Parallel()

	for _, tt := range snapshotMutations() {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := story(t)
			b := tt.snapshot(t, c)
			found := check(entries(c, 1), verify.Options{Idle: true, Snapshot: func(events.Key) []byte { return b }})
			if !slices.Equal(rulesOf(found), []verify.Rule{verify.RuleReplay}) {
				t.Errorf("found %v, want one violation of %s", found, verify.RuleReplay)
			}
		})
	}
}

// A snapshot may be of any rev, and one of a log that still grows may be ahead
// of what was read of it.
func TestTrueSnapshotsAreLegal(t *testing.T) {
	t.Parallel()

	c := story(t)
	for n := 1; n <= len(c.Commits); n++ {
		b := folded(t, c, upTo(n)...)
		for _, v := range check(entries(c, 1), verify.Options{Idle: true, Snapshot: func(events.Key) []byte { return b }}) {
			t.Errorf("snapshot of rev %d: %s", n, v)
		}
		for _, v := range check(entries(c, 1)[:max(1, n/2)], verify.Options{Snapshot: func(events.Key) []byte { return b }}) {
			t.Errorf("snapshot of rev %d, half of it read: %s", n, v)
		}
	}
}
