package chatgen

import (
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Chance makes choices. A [math/rand/v2.Rand] is one.
type Chance interface {
	IntN(n int) int // from 0 to n-1
}

// Driver drives a chat by chance.
type Driver struct {
	*Chat
	chance Chance
	sent   []chat.Message // what came before, to come again
	claims map[events.CallID][]chat.Claim
	inputs []string
	hoards bool            // tools give much to read, so that some of it is left out
	handed []protocol.Work // to workers, when last looked at

	// kin carries word to a child and gives what that tells; nil: nobody sees the
	// children, and what they tell is made up.
	kin func(*Driver, protocol.ChatWork) (chat.Message, bool)
}

// NewDriver drives a chat of that name.
func NewDriver(k events.Key, chance Chance) *Driver {
	d := DriverOf(New(k), chance)
	d.hoards = d.yes(8)
	if d.yes(3) {
		d.Live.Skills, _ = Skills()
	}
	d.Take(d.command(protocol.Create{V: protocol.Version, Settings: d.settings()}))
	return d
}

// DriverOf drives a chat on from where it is.
func DriverOf(c *Chat, chance Chance) *Driver {
	return &Driver{Chat: c, chance: chance, claims: make(map[events.CallID][]chat.Claim)}
}

// Log drives a new chat for that many messages.
func Log(k events.Key, chance Chance, messages int) *Chat {
	d := NewDriver(k, chance)
	for range messages {
		d.Take(d.Next())
	}
	return d.Chat
}

// Take handles a message that Next gave, and remembers that it came.
func (d *Driver) Take(m chat.Message) {
	d.sent = append(d.sent, m)
	d.Handle(m)
}

// Next is some message that may come now.
func (d *Driver) Next() chat.Message {
	d.Wait(time.Duration(d.chance.IntN(3_000)-200) * time.Millisecond)
	work := d.work()
	if call, ok := d.asking(); ok && d.yes(2) {
		return d.answer(call)
	}
	if step, ok := d.acting(); ok && !d.yes(4) {
		return d.deliver(step)
	}
	switch n := d.chance.IntN(100); {
	case n < 7:
		return d.again()
	case n < 20 || len(work) == 0:
		return d.wish()
	case n < 40 && len(d.State.AwaitingApproval()) > 0:
		return d.decide()
	}
	switch w := work[d.chance.IntN(len(work))].(type) {
	case protocol.ModelWork:
		return d.attempt(w)
	case protocol.ToolWork:
		return d.run(w)
	case protocol.ChatWork:
		return d.word(w)
	case protocol.Timer:
		return d.due(w)
	}
	panic("chatgen: work of an unknown kind")
}

// work is what may be going on outside: what is owed and, while a turn is being
// interrupted, what was handed out before. Most things are done in time.
func (d *Driver) work() []protocol.Work {
	owed := chat.Owed(d.State)
	others := slices.DeleteFunc(slices.Clone(owed), isTimer)
	if d.State.Interrupting() {
		others = d.handed
	} else {
		d.handed = others
	}
	if len(others) > 0 && !d.yes(8) {
		return others
	}
	return owed
}

func isTimer(w protocol.Work) bool { return w.Kind() == protocol.OwesTimer }

// again is a message that came before: late, or twice. A command that comes
// again is the same command. Or all of it has come before, and is restored.
func (d *Driver) again() chat.Message {
	if d.yes(20) {
		return chat.Restored{}
	}
	if len(d.sent) == 0 {
		return d.wish()
	}
	return d.sent[d.chance.IntN(len(d.sent))]
}

func (d *Driver) command(b protocol.Body) chat.Command {
	d.sequence++
	return chat.Command{ID: d.ID(), By: "user:ann", Sequence: d.sequence, Body: b, Schemas: d.schemas}
}

// wish is what a client may want.
func (d *Driver) wish() chat.Message {
	const v = protocol.Version
	turn := d.chance.IntN(4) // none, or one that may not be meant
	running, open := d.State.Running()
	if open && !d.yes(3) {
		turn = running
	}
	switch d.chance.IntN(36) {
	case 26:
		return d.answer(events.CallID{Turn: turn, Step: 1, Ordinal: 1})
	case 0, 12, 13:
		return d.command(protocol.Interrupt{V: v, Turn: turn, Reason: "enough"})
	case 1:
		return d.command(protocol.Configure{V: v, Settings: d.chatSettings()})
	case 2:
		return d.command(protocol.Rename{V: v, Title: "A title"})
	case 3:
		return d.command(protocol.Archive{V: v})
	case 4:
		return d.command(protocol.Unarchive{V: v})
	case 5:
		return d.command(protocol.Withdraw{V: v, Input: d.input()})
	case 6, 7:
		return d.command(protocol.Retry{V: v})
	case 8, 9:
		return d.command(protocol.Continue{V: v, Turn: turn})
	case 27:
		return d.edit()
	case 28:
		return d.command(protocol.Regenerate{V: v, Turn: d.anyTurn()})
	case 29:
		return d.command(protocol.SelectBranch{V: v, Turn: d.anyTurn()})
	case 10:
		return d.command(protocol.Create{V: v})
	case 14:
		return d.command(protocol.Promote{V: v, Input: d.input(), Interrupt: d.yes(2)})
	case 15:
		return d.command(protocol.EditInput{V: v, Input: d.input(), Parts: []events.Part{events.Text(d.text()), d.attachment()}[:1+d.chance.IntN(2)]})
	case 16, 17, 30:
		return d.command(protocol.Compact{V: v})
	case 18:
		return d.command(protocol.Clear{V: v})
	case 19:
		return d.command(protocol.Restore{V: v})
	case 11:
		if !d.State.Exists() {
			break
		}
		c := d.command(nil)
		c.Undeliverable, c.Verb = true, protocol.VerbSend
		return c
	case 24:
		set := protocol.SetMode{V: v, Approval: d.mode()}
		if d.yes(2) {
			set.Plan = new(d.yes(2))
		}
		if d.yes(4) {
			set.Approval = ""
		}
		return d.command(set)
	case 25:
		return d.decide()
	case 31, 32:
		return d.extend(turn)
	}
	return d.send()
}

func (d *Driver) input() string {
	if len(d.inputs) == 0 {
		return "none"
	}
	return d.inputs[len(d.inputs)-1-d.chance.IntN(min(3, len(d.inputs)))]
}

func (d *Driver) send() chat.Message {
	b := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(d.text())}}
	b.Mode = []events.SendMode{
		"", "", events.ModeQueue, events.ModeReject, events.ModeSteer, events.ModeSteer, events.ModeInterrupt, events.ModeRollback,
	}[d.chance.IntN(8)]
	switch d.chance.IntN(8) {
	case 0:
		if d.yes(4) {
			b.Mode = "later" // refused
		}
	case 1:
		b.Parts = nil // refused
	case 2:
		s := d.settings()
		b.Settings = &s
	case 3:
		b.Parts = append(b.Parts, d.attachment())
	}
	c := d.command(b)
	d.inputs = append(d.inputs, c.ID)
	return c
}

// attachment is an image or a file that was uploaded, sometimes said to be what is
// not taken.
func (d *Driver) attachment() events.Part {
	content := []byte{0x89, 'P', 'N', 'G', byte(d.chance.IntN(4))}
	digest := events.DigestOf(content)
	d.Blobs[digest] = content
	p := events.Part{Type: events.PartFile, MediaType: "text/csv", Name: d.text(), Bytes: int64(len(content)), Blob: digest}
	if d.yes(2) {
		p.Type, p.MediaType = events.PartImage, []string{"image/png", "image/webp", "image/bmp"}[d.chance.IntN(3)]
	}
	return p
}

func (d *Driver) settings() events.Settings {
	var s events.Settings
	if d.hoards {
		s.Model = "large"
	}
	if !d.hoards && d.yes(3) {
		s.Model = []string{"small", "large"}[d.chance.IntN(2)]
	}
	if d.yes(3) {
		s.Limits = &events.Limits{Steps: 1 + d.chance.IntN(4)}
	}
	if d.yes(4) {
		s.Approval = d.mode()
	}
	if d.yes(3) {
		s.Reviewer = []string{"large", "small", events.ReviewerNone}[d.chance.IntN(3)]
	}
	if d.yes(2) {
		s.Titler = []string{"large", "small", events.TitlerNone}[d.chance.IntN(3)]
	}
	if d.yes(6) {
		s.ClientTools = &[]events.ClientTool{{Name: ToolClient, Description: "The client's.", Schema: Schema()}}
	}
	if d.yes(6) {
		s.Tools = &[]string{ToolRead, ToolAppend, ToolUnoffered}
		if !d.yes(3) {
			s.Tools = &[]string{ToolRead, ToolSolo, chat.ToolAskUser, chat.ToolCreateArtifact, chat.ToolDelegate}
		}
	}
	if d.yes(5) {
		s.Budget = d.budget()
	}
	return s
}

// yes is true once in n times.
func (d *Driver) yes(n int) bool { return d.chance.IntN(n) == 0 }

// text is what people and models say, and what breaks parsers.
func (d *Driver) text() string {
	if len(d.Live.Skills) > 0 && d.yes(3) {
		return d.skillWord()
	}
	if d.yes(300) {
		return strings.Repeat("long ", events.MaxInlineBytes/4)
	}
	return []string{"", " ", "hello", "what time is it?", "a\x00b", "broken \xff\xfe", "\x1b[31mred", "\u200b", "line\r\nbreak"}[d.chance.IntN(9)]
}

// Fork is a driver that goes on from here by itself.
func (d *Driver) Fork() *Driver {
	c := *d.Chat
	c.Commits, c.Bytes, c.Blobs = slices.Clip(c.Commits), slices.Clip(c.Bytes), maps.Clone(c.Blobs)
	f := *d
	f.Chat = &c
	f.sent, f.inputs, f.claims = slices.Clip(d.sent), slices.Clip(d.inputs), maps.Clone(d.claims)
	for call, list := range f.claims {
		f.claims[call] = slices.Clip(list)
	}
	return &f
}
