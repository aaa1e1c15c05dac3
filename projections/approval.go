package projections

import (
	"fmt"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

func (f *fold) approvalRequested(e events.ApprovalRequested) {
	f.head.Awaiting = append(slices.Clip(f.head.Awaiting), e.Call)
	f.call(e.Call, func(c *Call) {
		c.Status = transcript.CallApproval
		c.Approval = &transcript.Approval{Mode: e.Mode, Policy: e.Policy, Arguments: e.Arguments, Due: e.Due, Review: e.Review}
	})
}

func (f *fold) approvalResolved(e events.ApprovalResolved) {
	f.head.Awaiting = slices.DeleteFunc(slices.Clone(f.head.Awaiting), func(id events.CallID) bool { return id == e.Call })
	if len(f.head.Awaiting) == 0 {
		f.head.Awaiting = nil
	}
	f.call(e.Call, func(c *Call) {
		c.Status = CallWaiting // a result follows at once, or it is handed out in its turn
		c.Edited = nil
		if len(e.Edited) > 0 {
			c.Edited = partsOf(e.Edited)
		}
		if c.Approval == nil {
			return
		}
		a := *c.Approval
		a.Decision, a.By, a.User, a.Scope, a.Reason, a.Permissions = e.Decision, e.By, e.User, e.Scope, e.Reason, e.Permissions
		c.Approval = &a
	})
}

// approval tells what a call waits for, or what was decided about it.
func (t *TextWriter) approval(c Call) {
	a := c.Approval
	if a == nil {
		return
	}
	if a.Decision == "" {
		t.indented("   ", fmt.Sprintf("waits for approval until %s", t.clock(a.Due)))
		if a.Review != nil {
			t.indented("   ", "reviewed: "+oneLine(a.Review.Reason))
		}
		return
	}
	said := fmt.Sprintf("%s by %s", a.Decision, a.By)
	if a.User != "" {
		said += " " + oneLine(a.User)
	}
	if a.Scope == events.ScopeChat {
		said += ", for this chat"
	}
	if a.Reason != "" {
		said += ": " + oneLine(a.Reason)
	}
	t.indented("   ", said)
	for _, p := range c.Edited {
		t.indented("   with ", shown(p, p.Arguments))
	}
}
