package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// rulesApprovals are the first decision rules by which a call can wait for a
// person. Before, one that needed a person was denied.
const rulesApprovals = 2

// approval is the question whether a call may run.
type approval struct {
	asked    Place
	request  events.ApprovalRequested
	resolved Place
	decision events.ApprovalDecision
}

// waits reports whether nobody has decided yet.
func (a approval) waits() bool { return a.asked.known() && !a.resolved.known() }

// allowed is a call that was approved for its whole chat.
type allowed struct {
	tool      string
	arguments events.Digest
}

func (h *history) isAllowed(c *call) bool {
	return slices.ContainsFunc(h.allowed, func(a allowed) bool { return a.tool == c.name && c.hasArguments(a.arguments) })
}

// needsPerson reports whether the call may run only if somebody approves it, by
// the mode in force now.
func (h *history) needsPerson(c *call) bool {
	t := h.turn
	if t.settings == nil || t.rules < rulesApprovals {
		return false
	}
	tool, ok := t.tool(c.name)
	return ok && needsPerson(t.mode, tool)
}

// modes are those in which a turn may start once one was set: that one, and what
// somebody asked for since.
type modes struct {
	since Place // unknown: none was set
	said  []events.ApprovalMode
}

// also adds a mode that somebody asks for.
func (m *modes) also(mode events.ApprovalMode) {
	if m.since.known() && mode != "" && !slices.Contains(m.said, mode) {
		m.said = append(m.said, mode)
	}
}

// startsInMode judges I10 for a turn that starts: a mode that was set holds until
// somebody asks for another one.
func (h *history) startsInMode(t *turn) {
	if h.modes.since.known() && !slices.Contains(h.modes.said, t.mode) {
		h.breaks(RuleApprovals, h.modes.since, "turn %d starts in mode %q, which nobody asked for since another one was set", t.number, t.mode)
	}
}

func (h *history) modeSet(e events.ModeSet) {
	switch e.Approval {
	case "", events.ApprovalAsk, events.ApprovalAuto, events.ApprovalFull:
	default:
		h.breaks(RuleApprovals, Place{}, "the mode is set to %q, which is none", e.Approval)
	}
	if e.Approval == "" && e.Plan == nil {
		h.breaks(RuleApprovals, Place{}, "no mode is set")
	}
	if e.Plan != nil {
		h.planning = planning{since: h.here, on: *e.Plan}
	}
	if e.Approval != "" {
		h.modes = modes{since: h.here, said: []events.ApprovalMode{e.Approval}}
	}
	if h.turn != nil && e.Approval != "" {
		h.turn.mode, h.turn.rules = e.Approval, max(h.turn.rules, rulesApprovals)
	}
}

func (h *history) approvalRequested(e events.ApprovalRequested) {
	c, ok := h.find(e.Call, e, RuleApprovals)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	h.starts("the approval of " + what)
	switch {
	case c.approval.asked.known():
		h.breaks(RuleApprovals, c.approval.asked, "%s is asked about twice", what)
		return
	case c.result.known():
		h.breaks(RuleApprovals, c.result, "%s is asked about after its result", what)
	case c.taken():
		h.breaks(RuleApprovals, c.asked, "%s is asked about after it was handed out", what)
	}
	if c.client.known() {
		h.breaks(RuleApprovals, c.client, "%s is asked about after the client was asked for it", what)
	}
	if e.Tool != c.name || !c.hasArguments(e.Arguments) {
		h.breaks(RuleApprovals, c.asked, "%s is asked about as another one than the model called", what)
	}
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleApprovals, c.asked, "%s is asked about, though %s", what, why)
	}
	if t := h.turn; t.settings != nil {
		tool, _ := t.tool(c.name)
		if e.Mode != t.mode || e.Policy != tool.Policy {
			h.breaks(RuleApprovals, t.start, "%s is judged by mode %q and policy %q, in force are %q and %q", what, e.Mode, e.Policy, t.mode, tool.Policy)
		}
		if !h.needsPerson(c) {
			h.breaks(RuleApprovals, c.asked, "%s is asked about and needs nobody", what)
		}
		if d, most := e.Due.Sub(h.at), t.settings.Limits.ApprovalTime(); e.Due == 0 || d > most {
			h.breaks(RuleBounds, Place{}, "%s waits for approval for %s, at most %s may be", what, d, most)
		}
	}
	h.reviewedBy(c, e)
	c.approval = approval{asked: h.here, request: e}
}

func (h *history) approvalResolved(e events.ApprovalResolved) {
	c, ok := h.find(e.Call, e, RuleApprovals)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	switch {
	case !c.approval.asked.known():
		h.breaks(RuleApprovals, c.asked, "%s is decided about, and nobody was asked", what)
	case c.approval.resolved.known():
		h.breaks(RuleApprovals, c.approval.resolved, "%s is decided about twice", what)
		return
	case e.Arguments != c.approval.request.Arguments:
		h.breaks(RuleApprovals, c.approval.asked, "%s is decided about with other arguments than were asked about", what)
	}
	if c.result.known() {
		h.breaks(RuleApprovals, c.result, "%s is decided about after its result", what)
	}
	h.decidedBy(c, e)
	h.granted(e)
	c.approval.resolved, c.approval.decision = h.here, e.Decision
	c.edit(e.Edited)
	if e.Decision == events.ApprovalApproved && e.Scope == events.ScopeChat {
		h.remember(c, e)
	}
}

// decidedBy judges who or what decided: each can say only so much, and comes with
// its own cause.
func (h *history) decidedBy(c *call, e events.ApprovalResolved) {
	what := describe(e.Call, "call")
	fits := false
	switch e.By {
	case events.ResolvedByUser:
		fits = h.cause.Verb == string(protocol.VerbApprove) && e.Decision != events.ApprovalCancelled
	case events.ResolvedByDeadline:
		fits = h.cause.ID == approvalTimer(c) && e.Decision == events.ApprovalDenied
	case events.ResolvedByRule:
		switch e.Decision {
		case events.ApprovalApproved:
			fits = h.isAllowed(c) || h.turn.settings == nil || !h.needsPerson(c)
		case events.ApprovalCancelled:
			fits = h.turn.interrupt.known() || h.closing
		case events.ApprovalDenied:
		}
	case events.ResolvedByModel:
		fits = e.Decision == events.ApprovalApproved && h.approves(c)
	}
	if !fits {
		h.breaks(RuleApprovals, c.approval.asked, "%s is %s by %s, which cannot be here", what, e.Decision, e.By)
	}
	if e.By != events.ResolvedByUser && (e.Scope == events.ScopeChat || len(e.Edited) > 0 || len(e.Permissions.Grants) > 0) {
		h.breaks(RuleApprovals, c.approval.asked, "%s is granted more by %s than a person granted", what, e.By)
	}
	if e.Decision != events.ApprovalApproved && (len(e.Edited) > 0 || len(e.Permissions.Grants) > 0) {
		h.breaks(RuleApprovals, c.approval.asked, "%s is %s, and granted something", what, e.Decision)
	}
}

func (h *history) granted(e events.ApprovalResolved) {
	h.message(e.Reason)
	if n := len(e.Permissions.Grants); n > events.MaxGrants {
		h.breaks(RuleBounds, Place{}, "%d permissions are granted with call %s, at most %d may be", n, e.Call, events.MaxGrants)
	}
	if n := len(e.Edited); n > 1 {
		h.breaks(RuleCalls, Place{}, "call %s is edited into %d", e.Call, n)
	}
}

// edit gives the call the arguments that somebody made of its own.
func (c *call) edit(parts []events.Part) {
	if len(parts) == 1 {
		c.arguments, c.blob, c.edited = parts[0].Arguments, parts[0].Blob, true
	}
}

// remember notes an approval that holds for the chat.
func (h *history) remember(c *call, e events.ApprovalResolved) {
	next := allowed{tool: c.name, arguments: e.Arguments}
	if len(e.Edited) == 1 {
		if next.arguments = c.blob; c.blob == "" {
			next.arguments = events.DigestOf([]byte(c.object()))
		}
	}
	h.allowed = append(slices.DeleteFunc(h.allowed, func(a allowed) bool { return a == next }), next)
	if n := len(h.allowed); n > events.MaxRemembered {
		h.allowed = h.allowed[n-events.MaxRemembered:]
	}
}

// mayRunApproved judges I9 and I10 for a call that is handed out or started: it
// was approved if it had to be.
func (h *history) mayRunApproved(c *call, how string) {
	what := describe(c.id, "call")
	switch a := c.approval; {
	case a.waits():
		h.breaks(RuleApprovals, a.asked, "%s is %s while it waits for approval", what, how)
	case a.asked.known() && a.decision != events.ApprovalApproved:
		h.breaks(RuleLicence, a.resolved, "%s is %s, and was %s", what, how, a.decision)
	case !a.asked.known() && h.needsPerson(c) && !c.requested.known():
		h.breaks(RuleLicence, c.asked, "%s is %s, and nobody approved it", what, how)
	}
}

// afterApproval judges I10 for a result of a call that somebody was asked about.
func (h *history) afterApproval(c *call, e events.ToolCompleted) {
	what, a := describe(e.Call, "call"), c.approval
	switch {
	case a.waits():
		h.breaks(RuleApprovals, a.asked, "%s is %s while it waits for approval", what, e.Status)
	case !a.asked.known(), h.closing:
	case a.decision == events.ApprovalDenied && e.Status != events.ToolDenied,
		a.decision == events.ApprovalCancelled && e.Status != events.ToolCancelled:
		h.breaks(RuleApprovals, a.resolved, "%s was %s and is %s", what, a.decision, e.Status)
	}
}

// denied reports whether the call's denial is the decision that was made about it
// in this commit.
func (h *history) denied(c *call) bool {
	return c.approval.resolved == h.here && c.approval.decision == events.ApprovalDenied
}

// asksAll judges I10 where a commit ends: whoever needs a person waits for one, and
// whoever was turned down has a result.
func (h *history) asksAll(s *step) {
	for _, c := range s.openCalls() {
		what := describe(c.id, "call")
		switch a := c.approval; {
		case s.reported:
			return
		case a.resolved.known() && a.decision != events.ApprovalApproved:
			s.reported = true
			h.breaks(RuleApprovals, a.resolved, "%s was %s and has no result", what, a.decision)
		case h.underReview(c):
			// The model may spare a person the question.
		case !a.asked.known() && !c.taken() && !c.client.known() && h.needsPerson(c):
			s.reported = true
			h.breaks(RuleApprovals, c.asked, "%s needs a person, and nobody is asked", what)
		}
	}
}

func approvalTimer(c *call) string {
	return protocol.TimerName{Kind: protocol.TimerApproval, Call: c.id}.String()
}
