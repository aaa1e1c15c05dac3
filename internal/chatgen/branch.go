package chatgen

import (
	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// anyTurn is one of the newest turns, none, or one that was never started.
func (d *Driver) anyTurn() int {
	newest := 0
	for i := len(d.Commits) - 1; i >= 0 && newest == 0; i-- {
		for _, e := range d.Commits[i].Events {
			if e, ok := e.(events.TurnStarted); ok {
				newest = e.Turn
			}
		}
	}
	return max(0, newest+1-d.chance.IntN(5))
}

// edit says something else than was said before, in a turn or in an input.
func (d *Driver) edit() chat.Message {
	b := protocol.Edit{V: protocol.Version, Turn: d.anyTurn(), Parts: []events.Part{events.Text(d.text())}}
	switch d.chance.IntN(4) {
	case 0:
		b.Turn, b.Input = 0, d.input()
	case 1:
		b.Parts = append(b.Parts, d.attachment())
	case 2:
		s := d.settings()
		b.Settings = &s
	}
	c := d.command(b)
	d.inputs = append(d.inputs, c.ID)
	return c
}
