package system

import (
	"bytes"
	"slices"
	"testing"

	"github.com/klauspost/compress/s2"
	"github.com/nats-io/nats.go/jetstream"

	evolve "github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// snapshot waits for the snapshot of the chat as it stands now.
func (c *chat) snapshot() []byte {
	c.Helper()
	h := c.read()
	last := []byte(events.Hash(h.entries[len(h.entries)-1].Commit))
	var content []byte
	eventually(c.T, "the chat's newest state is stored as a snapshot", func() bool {
		got, err := c.s.bus.Snapshots.Get(patient(c.T), c.key, evolve.FoldVersion)
		plain, unpackErr := s2.Decode(nil, got)
		content = got
		return err == nil && unpackErr == nil && bytes.Contains(plain, last)
	})
	return content
}

// Whatever is wrong with a snapshot, the log has it all: a process that finds
// one goes on as if there were none.
func TestASnapshotIsBelievedOnlyWhereTheLogAgrees(t *testing.T) {
	t.Parallel()
	s := newSystem(t, options{})
	s.startProjections()
	first := s.startOrchestrator(nil)
	type stored struct{ old, newest []byte }
	tests := []struct {
		name string
		lie  func(t *testing.T, own, others stored) []byte // nil is none at all
	}{
		{"the newest", func(_ *testing.T, own, _ stored) []byte { return own.newest }},
		{"an old one", func(_ *testing.T, own, _ stored) []byte { return own.old }},
		{"none", func(*testing.T, stored, stored) []byte { return nil }},
		{"half of one", func(_ *testing.T, own, _ stored) []byte { return own.newest[:len(own.newest)/2] }},
		{"another chat's", func(_ *testing.T, _, others stored) []byte { return others.newest }},
		{"one of a newer release", func(t *testing.T, own, _ stored) []byte {
			return edited(t, own.newest, `"rules":`, `"rules":9`)
		}},
		{"one that names a commit that is not there yet", func(t *testing.T, own, _ stored) []byte {
			return edited(t, own.newest, `"seq":`, `"seq":9`)
		}},
		{"one whose words are others", func(t *testing.T, own, _ stored) []byte {
			return edited(t, own.newest, "You wrote", "I replied")
		}},
	}
	chats, kept := make([]*chat, len(tests)), make([]stored, len(tests))
	for i := range tests {
		chats[i] = s.chat(t, scripted(t, plain))
		chats[i].turn("one")
	}
	for i, c := range chats {
		kept[i].old = c.snapshot()
		c.turn("two")
	}
	for i, c := range chats {
		kept[i].newest = c.snapshot()
	}
	first.halt()
	for i, tt := range tests {
		content := tt.lie(t, kept[i], kept[(i+1)%len(kept)])
		if content == nil {
			s.purged("KV_SNAPSHOTS", "$KV.SNAPSHOTS.*."+chats[i].key.Tenant+"."+chats[i].key.Chat)
			continue
		}
		if err := s.bus.Snapshots.Put(patient(t), chats[i].key, evolve.FoldVersion, content); err != nil {
			t.Fatal(err)
		}
	}
	s.startOrchestrator(nil)
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := s.again(t, chats[i].key.Chat, scripted(t, plain))
			h := c.turn("three")
			if got := h.finalText(); got != "You wrote: three" {
				t.Errorf("the answer is %q", got)
			}
			var said []string
			for _, m := range c.model.last().Messages {
				said = append(said, textOf(m.Parts))
			}
			if want := []string{"one", "You wrote: one", "two", "You wrote: two", "three"}; !slices.Equal(said, want) {
				t.Errorf("the model was shown %q, want %q", said, want)
			}
			c.judge()
		})
	}
}

// edited is a snapshot in which one word is another.
func edited(t *testing.T, content []byte, word, by string) []byte {
	t.Helper()
	text, err := s2.Decode(nil, content)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Contains(text, []byte(word)) {
		t.Fatalf("no %s in the snapshot\n%s", word, text)
	}
	return s2.Encode(nil, bytes.Replace(text, []byte(word), []byte(by), 1))
}

// purged removes what a stream has under a subject.
func (s *system) purged(stream, subject string) {
	s.Helper()
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	of, err := js.Stream(patient(s.T), stream)
	if err != nil {
		s.Fatal(err)
	}
	if err := of.Purge(patient(s.T), jetstream.WithPurgeSubject(subject)); err != nil {
		s.Fatal(err)
	}
}
