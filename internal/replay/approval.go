package replay

import (
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// approvals are decisions of a person that may have had this outcome. How edited
// arguments were judged depends on a schema: it took them, or they would not be here.
func (h *History) approvals(c events.Commit, command chat.Command, e events.ApprovalResolved) []guess {
	body := protocol.Approve{V: protocol.Version, Call: e.Call, Decision: protocol.DecideApprove, Reason: e.Reason}
	switch {
	case e.Decision == events.ApprovalDenied:
		body.Decision = protocol.DecideDeny
		for _, follows := range c.Events[1:] {
			if stop, ok := follows.(events.TurnInterruptRequested); ok && stop.Reason != events.ReasonBudget {
				body.Stop = true
			}
		}
	case e.Scope == events.ScopeChat:
		body.Decision = protocol.DecideApproveForChat
	}
	if len(e.Permissions.Grants) > 0 {
		body.Permissions = &e.Permissions
	}
	g := guess{}
	if edited, stands := h.filled(c.Key, e.Edited, true); len(edited) == 1 {
		body.Args, g.stands = json.RawMessage(edited[0].Arguments), stands
		if stands[0] {
			body.Args = json.RawMessage(`{"` + standIn + `":0}`)
		}
		if tool, ok := h.state.ToolOf(e.Call); ok {
			command.Schemas = map[events.Digest]*chat.Schema{tool.Manifest: anything()}
		}
	}
	command.Body = body
	g.message = command
	return []guess{g}
}

// notedBody is a command that may have had nothing to do.
func (h *History) notedBody(verb protocol.Verb, turn int) protocol.Body {
	if verb == protocol.VerbSetMode {
		return protocol.SetMode{V: protocol.Version, Plan: new(h.state.Plan())} // as good as any other mode that is in force
	}
	return bodyOf(verb, turn)
}

// refusedApproval is a decision that may have been turned down so: about the call
// that the reason names.
func refusedApproval(e events.CommandRejected) protocol.Approve {
	b := protocol.Approve{V: protocol.Version, Decision: protocol.DecideApprove}
	for word := range strings.FieldsSeq(e.Message) {
		if call, err := events.ParseCallID(strings.TrimRight(word, ":,."), "."); err == nil {
			b.Call = call
			break
		}
	}
	if e.Code == events.CodeArgumentsChanged {
		b.Arguments = events.DigestOf([]byte(standIn)) // some that the call does not have
	}
	return b
}
