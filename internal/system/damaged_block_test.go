package system

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// Words that stand in the blocks of a log: in the first turn, and in the commit
// that is the chat's last.
const (
	early = "alpha"
	late  = "You wrote: omega"
)

// harm is one way in which a disk goes bad.
type harm struct {
	name     string
	word     string                            // where
	do       func(block []byte, at int) []byte // what
	cold     bool                              // snapshots are gone too
	inShard  bool                              // others whose commits lie in the same block go on as well
	answered bool                              // the chat itself can go on: what it needs is in its snapshot
}

func flipped(block []byte, at int) []byte {
	block[at] ^= 1
	return block
}

func truncated(block []byte, at int) []byte { return block[:at] }

// Damage under the server is noticed before the chat's next commit. That chat
// stops, all others go on.
func TestADamagedBlockStopsTheChatsThatLieInIt(t *testing.T) {
	t.Parallel()
	for _, tt := range []harm{
		{name: "a byte of an old commit, and no snapshot", word: early, do: flipped, cold: true, inShard: true},
		{name: "a byte of an old commit behind a snapshot", word: early, do: flipped, inShard: true, answered: true},
		{name: "a byte of the last commit", word: late, do: flipped, inShard: true},
		{name: "a byte of the last commit, and no snapshot", word: late, do: flipped, cold: true, inShard: true},
		{name: "the end of a block is gone", word: late, do: truncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			store := t.TempDir()
			s := newSystem(t, options{store: store})
			first := s.startOrchestrator(nil)
			victim := s.chat(t, scripted(t, plain))
			shard := protocol.Shard(victim.key, s.bus.Log.Shards())
			victim.turn(early)
			victim.turn("omega")
			mate := s.inShard(t, shard, true)
			healthy := s.inShard(t, shard, false)
			victim.snapshot()
			first.halt()
			if tt.cold {
				s.purged("KV_SNAPSHOTS", "$KV.SNAPSHOTS.>")
			}
			s.bus.Close()
			s.nc.Close()
			if err := s.server.Close(); err != nil {
				t.Fatal(err)
			}
			tt.damage(t, store, shard)

			after := newSystem(t, options{store: store})
			after.startOrchestrator(nil)
			after.startProjections()
			if tt.inShard {
				after.again(t, mate.key.Chat, scripted(t, plain)).stillWorks()
			}
			after.again(t, healthy.key.Chat, scripted(t, plain)).stillWorks()
			c := after.again(t, victim.key.Chat, scripted(t, plain))
			if tt.answered {
				c.do(send("more"))
				c.until("it is answered", func(h history) bool { return h.finalText() == "You wrote: more" })
				c.notShown(events.CodeChatStopped)
				c.condemned("")
				return
			}
			c.stopped(send("more"))
			c.stopped(protocol.Create{V: protocol.Version})
			if n := after.commits(c.key); n > 5 {
				t.Errorf("%d commits, and there were 5", n)
			}
		})
	}
}

// inShard makes a chat that lies in that shard, or in another one.
func (s *system) inShard(t *testing.T, shard int, same bool) *chat {
	t.Helper()
	for {
		c := s.again(t, client.NewID(), scripted(t, plain))
		if (protocol.Shard(c.key, s.bus.Log.Shards()) == shard) != same {
			continue
		}
		c.do(protocol.Create{V: protocol.Version, Settings: events.Settings{Model: c.key.Chat}})
		return c
	}
}

// stopped wants the chat to be stopped for that command.
func (c *chat) stopped(body protocol.Body) {
	c.Helper()
	if r := c.refused(body); r.Code != events.CodeChatStopped {
		c.Errorf("%s: reply %+v, want that the chat is stopped", body.Verb(), r)
	}
}

// damage harms the block that holds the word.
func (h harm) damage(t *testing.T, store string, shard int) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(store, "jetstream", "*", "streams", streams.LogStream(shard), "msgs", "*.blk"))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		block, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		at := bytes.LastIndex(block, []byte(h.word))
		if at < 0 {
			continue
		}
		if err := os.WriteFile(file, h.do(block, at), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	t.Fatalf("no block of shard %d in %s has %q", shard, store, h.word)
}

// commits is how many commits of the chat the server says it has.
func (s *system) commits(k events.Key) uint64 {
	s.Helper()
	c := &chat{T: s.T, s: s, key: k}
	shard := protocol.Shard(k, s.bus.Log.Shards())
	return c.messages(streams.LogStream(shard), protocol.LogSubject(shard, k))
}
