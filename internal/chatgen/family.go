package chatgen

import (
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Family is a chat with the chats that work for its calls, and those that work for
// theirs. Word goes between them as orchestrators carry it.
type Family struct {
	chance Chance
	live   chat.Live
	all    []*Driver // the eldest first
}

// NewFamily is a chat of that name, whose models may delegate.
func NewFamily(k events.Key, chance Chance) *Family {
	f := &Family{chance: chance}
	c := New(k)
	tools := []string{chat.ToolDelegate, ToolRead, ToolAsk, ToolAppend}
	c.Live.Defaults.Tools, c.Live.Windows, c.Live.Agents = &tools, nil, agents()
	f.live = c.Live
	f.join(c)
	f.all[0].Take(f.all[0].command(protocol.Create{V: protocol.Version}))
	return f
}

// join makes a chat one of the family.
func (f *Family) join(c *Chat) *Driver {
	c.Live = f.live
	d := DriverOf(c, f.chance)
	d.kin = f.word
	f.all = append(f.all, d)
	return d
}

// Chats are all of them, parents before their children.
func (f *Family) Chats() []*Chat {
	list := make([]*Chat, len(f.all))
	for i, d := range f.all {
		list[i] = d.Chat
	}
	return list
}

// Step lets something happen in one of the chats.
func (f *Family) Step() {
	d := f.all[f.chance.IntN(len(f.all))]
	d.Take(d.Next())
}

func (f *Family) find(k events.Key) *Driver {
	i := slices.IndexFunc(f.all, func(d *Driver) bool { return d.key == k })
	if i < 0 {
		return nil
	}
	return f.all[i]
}

// word carries what a chat owes its child there, and gives what that has to say.
func (f *Family) word(d *Driver, w protocol.ChatWork) (chat.Message, bool) {
	k := protocol.ChildKey(d.key, w.Call)
	parent := events.Parent{Chat: d.key.Chat, Call: w.Call}
	child := f.find(k)
	switch b, open := d.State.BirthOf(w.Call); {
	case !open:
		return nil, false
	case child == nil:
		child = f.join(New(k))
		child.now = d.now
		child.Take(b)
	case b.Stopped:
		child.Take(chat.Recall{Parent: parent})
	}
	if r, ended := child.State.ReportTo(parent); ended {
		return r, true
	}
	return nil, false
}

// Rest brings all of them to rest: models answer, people and runners do not, and
// timers come last.
func (f *Family) Rest() {
	for f.goesOn() {
	}
}

func (f *Family) goesOn() bool {
	for _, d := range slices.Backward(f.all) { // children first: their parents wait for them
		if _, _, open := d.State.OpenAttempt(); open {
			d.Answer(events.Text("That is all."))
			return true
		}
		for _, w := range chat.Owed(d.State) {
			if w, ok := w.(protocol.ChatWork); ok {
				known := len(f.all)
				m, told := f.word(d, w)
				if told {
					d.Take(m)
				}
				if told || len(f.all) > known {
					return true
				}
			}
		}
	}
	for _, d := range slices.Backward(f.all) {
		if slices.ContainsFunc(chat.Owed(d.State), isTimer) {
			d.Fire()
			return true
		}
	}
	for _, d := range slices.Backward(f.all) {
		if _, open := d.State.Running(); open && !d.State.Interrupting() { // it waits for its budget
			d.Interrupt()
			return true
		}
	}
	return false
}
