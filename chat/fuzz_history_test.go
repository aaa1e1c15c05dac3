package chat_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// FuzzHistory reads any bytes as the log that a new chat is to go on from, also
// with the chain made good. They are no history, or a chat begins with it in which
// nothing is open and everything works.
func FuzzHistory(f *testing.F) {
	for i, c := range seedChats() {
		rev := uint64(len(c.Commits))
		f.Add(c.History(rev), false)
		f.Add(c.History(rev/2+1), true)
		if i == 0 {
			fork := c.ForkAt(events.Key{Tenant: lawful.Tenant, Chat: "fork"}, rev)
			f.Add(fork.History(1), false)
		}
	}
	r := newTrial(f)
	f.Fuzz(func(t *testing.T, b []byte, chained bool) {
		if chained {
			b = inChain(b)
		}
		h, err := chat.ReadHistory(b)
		if err != nil {
			_, newer := errors.AsType[*events.VersionError](err)
			if newer == errors.Is(err, events.ErrHistory) {
				t.Errorf("neither newer nor no history, or both: %v", err)
			}
			return
		}
		r := r.of(t)
		s := r.decides(h.State, chat.Command{
			ID: "import", Sequence: 1, Body: protocol.Import{V: protocol.Version, History: h.Digest}, History: h,
		})
		if !s.Exists() {
			t.Fatal("nothing begins with it")
		}
		if _, running := s.Running(); running || len(chat.Owed(s)) > 0 {
			t.Fatalf("something is open where it begins: %v", chat.Owed(s))
		}
		r.works(s)
	})
}

// inChain is the commits of a text, one a line, as the log of one chat.
func inChain(text []byte) []byte {
	var log []byte
	prev, rev := "", uint64(0)
	for line := range bytes.Lines(text) {
		c, err := events.Decode(bytes.TrimSpace(line))
		if err != nil {
			break
		}
		rev++
		c.Key, c.Rev, c.Prev = lawful, rev, prev
		b, err := events.Encode(c)
		if err != nil {
			break
		}
		prev = events.Hash(b)
		log = append(append(log, b...), '\n')
	}
	return log
}
