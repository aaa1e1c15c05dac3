// Package chatgen makes histories of chats for tests: by hand, message by
// message, or by chance. What it makes is what package chat decided, so its logs
// are legal as long as chat's decisions are.
package chatgen

import (
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/oklog/ulid/v2"
)

// Start is when generated chats begin.
var Start = events.At(time.Date(2026, 11, 29, 12, 0, 0, 0, time.UTC))

// smallWindow is the window of the model that most chats ask. A dozen messages
// fill it.
const smallWindow = 300

// largeWindow is that of the other one. Only [Chat.Pictures] fill it.
const largeWindow = 150_000

// Chat is a chat and its whole log. Messages go in, commits pile up.
type Chat struct {
	Live  chat.Live
	State chat.State

	Commits []events.Commit
	Bytes   [][]byte // of each commit
	Blobs   map[events.Digest][]byte

	key      events.Key
	now      events.Time
	minted   uint64
	sequence uint64 // of the last command
	schemas  map[events.Digest]*chat.Schema
}

// New is a chat that does not exist yet, with the generator's tools on offer.
func New(k events.Key) *Chat {
	o := offer()
	live := chat.Live{
		Defaults: events.Settings{Model: "small", System: "Be brief."}, Tools: o.tools,
		Windows: map[string]chat.Window{"small": {Tokens: smallWindow}, "large": {Tokens: largeWindow}},
	}
	return &Chat{Live: live, Blobs: make(map[events.Digest][]byte), key: k, now: Start, schemas: o.schemas}
}

// Key names the chat.
func (c *Chat) Key() events.Key { return c.key }

// Now is the chat's clock.
func (c *Chat) Now() events.Time { return c.now }

// Wait moves the clock; back, too, if d is negative.
func (c *Chat) Wait(d time.Duration) { c.now = c.now.Add(d) }

// ID mints the next ULID. Ids of different chats differ.
func (c *Chat) ID() string {
	c.minted++
	var id ulid.ULID
	_ = id.SetTime(uint64(Start)) // fails after the year 10889
	owner := events.Hash([]byte(c.key.String()))
	copy(id[6:], owner[:4])
	for i := range 6 {
		id[15-i] = byte(c.minted >> (8 * i))
	}
	return id.String()
}

// Handle decides a message and, if anything follows, commits it.
func (c *Chat) Handle(m chat.Message) chat.Decision {
	at := max(c.now, c.State.At())
	d := chat.Handle(c.State, m, at, c.Live)
	for _, content := range d.Large {
		c.Blobs[content.Digest] = content.Bytes
	}
	c.share(d.Shared)
	if len(d.Events) > 0 {
		c.commit(chat.CauseOf(m), at, d.Events)
	}
	return d
}

func (c *Chat) commit(cause events.Cause, at events.Time, list []events.Event) {
	commit := events.Commit{
		ID: c.ID(), Key: c.key, Rev: c.State.Rev() + 1, Prev: c.State.Prev(), At: at, Cause: cause, Events: list,
	}
	b, err := events.Encode(commit)
	if err != nil {
		panic(fmt.Sprintf("chatgen: commit without JSON: %v", err))
	}
	c.State = c.State.Apply(commit, events.Hash(b))
	c.Commits, c.Bytes = append(c.Commits, commit), append(c.Bytes, b)
}

// Command gives the chat a new command and returns it.
func (c *Chat) Command(body protocol.Body) chat.Command {
	c.sequence++
	m := chat.Command{ID: c.ID(), By: "user:ann", Sequence: c.sequence, Body: body, Schemas: c.schemas}
	c.Handle(m)
	return m
}

// Create creates the chat with those settings.
func (c *Chat) Create(s events.Settings) {
	c.Command(protocol.Create{V: protocol.Version, Settings: s})
}

// Send says something and gives the id of the input.
func (c *Chat) Send(text string) string { return c.SendAs("", text) }

// SendAs says something in that mode and gives the id of the input.
func (c *Chat) SendAs(mode events.SendMode, text string) string {
	return c.Command(protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}, Mode: mode}).ID
}

// Subject is where the chat's commits lie in a log of that many shards.
func (c *Chat) Subject(shards int) string {
	return protocol.LogSubject(protocol.Shard(c.key, shards), c.key)
}
