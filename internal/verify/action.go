package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// actionRequested judges that the client is asked for all calls of its own tools,
// once, and when nothing else of the step is open.
func (h *history) actionRequested(e events.ActionRequested) {
	if !h.belongs(e.Step.Turn, e) {
		return
	}
	what := "the action of step " + e.Step.String()
	h.starts(what)
	s := h.turn.step
	if s == nil || s.id != e.Step || s.phase != stepCompleted {
		h.breaks(RuleSteps, h.turn.start, "%s, which has no answer or is not the newest", what)
		return
	}
	if s.action.known() {
		h.breaks(RuleCalls, s.action, "%s is requested twice", what)
	}
	s.action = h.here
	if d := e.Due.Sub(h.at); d > events.ActionTimeout {
		h.breaks(RuleBounds, Place{}, "%s may take %s, at most %s may be", what, d, events.ActionTimeout)
	}
	for _, c := range s.openCalls() {
		if !slices.Contains(e.Calls, c.id) {
			h.breaks(RuleLicence, c.asked, "%s does not name %s, which is open", what, describe(c.id, "call"))
		}
	}
	for _, id := range e.Calls {
		c, ok := h.find(id, e, RuleCalls)
		if !ok {
			continue
		}
		call := describe(id, "call")
		tool, known := h.turn.tool(c.name)
		switch _, why := h.barred(c); {
		case c.result.known():
			h.breaks(RuleLicence, c.result, "the client is asked for %s after its result", call)
		case why != "":
			h.breaks(RuleLicence, c.asked, "the client is asked for %s, though %s", call, why)
		case known && !tool.Client:
			h.breaks(RuleLicence, h.turn.start, "the client is asked for %s, and its tool %s is not the client's", call, c.name)
		}
		h.mayRunApproved(c, "given to the client")
		c.client = h.here
	}
}

// isClients reports whether the call is of one of the client's tools.
func (t *turn) isClients(c *call) bool {
	tool, ok := t.tool(c.name)
	return ok && tool.Client
}

// clientResult judges the result of a call that the client was asked for: it comes
// from the client, or the time is over, or the turn is interrupted.
func (h *history) clientResult(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if e.Runner != "" {
		h.breaks(RuleLicence, c.client, "%s names the runner %s, and the client has it", what, e.Runner)
	}
	byClient := h.cause.Kind == events.CausedByCommand && h.cause.Verb == string(protocol.VerbClientResult)
	timer := protocol.TimerName{Kind: protocol.TimerAction, Step: e.Call.StepID()}.String()
	byTimer := h.cause.Kind == events.CausedByTimer && h.cause.ID == timer
	switch e.Status {
	case events.ToolOK, events.ToolError:
		if !byClient {
			h.breaks(RuleResults, c.client, "%s is %s, and the client did not say so", what, e.Status)
		}
	case events.ToolTimeout:
		if !byTimer {
			h.breaks(RuleLicence, c.client, "%s timed out without its timer %s", what, timer)
		}
	case events.ToolUnknown:
		if !h.turn.interrupt.known() {
			h.breaks(RuleInterrupts, c.client, "%s is given up, and nobody asked for it", what)
		}
	case events.ToolCancelled, events.ToolDenied, events.ToolInvalid, events.ToolNotFound:
		h.breaks(RuleResults, c.client, "the client was asked for %s, and it is %s", what, e.Status)
	}
}
