package chatgen

import (
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Approve lets a call run that waits for somebody.
func (c *Chat) Approve(call events.CallID) {
	c.Command(protocol.Approve{V: protocol.Version, Call: call, Decision: protocol.DecideApprove})
}

// Deny says no to it.
func (c *Chat) Deny(call events.CallID) {
	c.Command(protocol.Approve{V: protocol.Version, Call: call, Decision: protocol.DecideDeny, Reason: "no"})
}

// SetMode says which calls need somebody.
func (c *Chat) SetMode(mode events.ApprovalMode) {
	c.Command(protocol.SetMode{V: protocol.Version, Approval: mode})
}

func (d *Driver) mode() events.ApprovalMode {
	return []events.ApprovalMode{events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull, "nonsense"}[d.chance.IntN(4)]
}

// decide is what a person may say about a call: mostly one that waits.
func (d *Driver) decide() chat.Message {
	b := protocol.Approve{V: protocol.Version, Call: events.CallID{Turn: 1 + d.chance.IntN(3), Step: 1, Ordinal: 1}, Reason: d.text()}
	if waiting := d.State.AwaitingApproval(); len(waiting) > 0 && !d.yes(8) {
		b.Call = waiting[d.chance.IntN(len(waiting))]
	}
	b.Decision = []protocol.ApproveDecision{
		protocol.DecideApprove, protocol.DecideApprove, protocol.DecideApproveForChat, protocol.DecideDeny, protocol.DecideDeny,
	}[d.chance.IntN(5)]
	if d.yes(20) {
		b.Decision = "perhaps"
	}
	switch {
	case b.Decision == protocol.DecideDeny:
		b.Stop = d.yes(3)
	case d.yes(3):
		b.Args = json.RawMessage([]string{
			ArgumentsValid, `{"n": 2}`, ArgumentsWrong, "[]", "null", d.long(), ArgumentsTask, ArgumentsTaskBlank,
		}[d.chance.IntN(8)])
	}
	if d.yes(6) {
		b.Arguments = events.DigestOf([]byte([]string{"{}", ArgumentsValid, `{"n":2}`}[d.chance.IntN(3)]))
	}
	if d.yes(6) {
		b.Permissions = &events.Permissions{Grants: []string{"network"}}
	}
	return d.command(b)
}

// long is arguments that are too large to stand in a log, seldom.
func (d *Driver) long() string {
	if !d.yes(20) {
		return "{}"
	}
	return `{"n":3,"text":"` + strings.Repeat("long ", events.MaxInlineBytes/4) + `"}`
}
