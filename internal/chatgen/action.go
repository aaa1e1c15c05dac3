package chatgen

import (
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Deliver sends the result of a call that the client runs itself.
func (c *Chat) Deliver(call events.CallID, text string) chat.Command {
	return c.Command(protocol.ClientResult{V: protocol.Version, Call: call, Parts: []events.Part{events.Text(text)}})
}

// acting is the step whose calls the client is to run, if there is one.
func (c *Chat) acting() (events.StepID, bool) {
	for _, w := range chat.Owed(c.State) {
		t, ok := w.(protocol.Timer)
		if !ok {
			continue
		}
		if name, err := protocol.ParseTimerName(t.Name); err == nil && name.Kind == protocol.TimerAction {
			return name.Step, true
		}
	}
	return events.StepID{}, false
}

// deliver is what a client may send, also what it should not.
func (d *Driver) deliver(step events.StepID) chat.Message {
	b := protocol.ClientResult{
		V: protocol.Version, Call: events.CallID{Turn: step.Turn, Step: step.Step, Ordinal: 1 + d.chance.IntN(4)}, IsError: d.yes(4),
	}
	switch d.chance.IntN(8) {
	case 0:
	case 1:
		b.Parts = []events.Part{{Type: events.PartData, JSON: `{"n":1}`}}
	case 3:
		b.Parts = []events.Part{events.Text(d.text()), events.Text(strings.Repeat("é", events.MaxResultBytes/2))} // cut
	case 2:
		b.Parts = []events.Part{{Type: events.PartImage}} // refused
	default:
		b.Parts = []events.Part{events.Text(d.text())}
	}
	return d.command(b)
}
