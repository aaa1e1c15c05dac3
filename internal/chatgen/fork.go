package chatgen

import (
	"fmt"
	"maps"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// History is the chat's log up to a rev, and what it goes on from itself, in the
// form in which another chat can go on from it.
func (c *Chat) History(rev uint64) []byte {
	b := append([]byte(nil), c.Blobs[c.goesOnFrom()]...)
	for _, commit := range c.Bytes[:rev] {
		b = append(append(b, commit...), '\n')
	}
	return b
}

// goesOnFrom is the history that the chat itself began with; empty if it has none.
func (c *Chat) goesOnFrom() events.Digest {
	if len(c.Commits) > 0 {
		if first, ok := c.Commits[0].Events[0].(events.ChatInherited); ok {
			return first.History
		}
	}
	return ""
}

// ForkAt is another chat that goes on from c as it was at a rev.
func (c *Chat) ForkAt(k events.Key, rev uint64) *Chat {
	fork := New(k)
	fork.inherit(c, rev, protocol.Fork{V: protocol.Version, Chat: c.key.Chat, Rev: rev})
	return fork
}

// ImportAt is what c was at a rev in another installation, which counts its commands
// anew.
func (c *Chat) ImportAt(k events.Key, rev uint64) *Chat {
	moved := New(k)
	moved.inherit(c, rev, protocol.Import{V: protocol.Version, History: events.DigestOf(c.History(rev))})
	return moved
}

func (c *Chat) inherit(from *Chat, rev uint64, body protocol.Body) {
	raw := from.History(rev)
	history, err := chat.ReadHistory(raw)
	if err != nil {
		panic(fmt.Sprintf("chatgen: %v", err))
	}
	c.Live, c.now = from.Live, from.now
	c.Blobs = maps.Clone(from.Blobs)
	c.Blobs[history.Digest] = raw
	c.State = history.State
	c.sequence++
	c.Handle(chat.Command{ID: c.ID(), By: "user:ann", Sequence: c.sequence, Body: body, History: history})
}
