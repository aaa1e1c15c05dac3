package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// rulesApprovals are the first rules by which a call can wait for a person. In a
// turn that began under earlier ones it is denied, whoever goes on with that turn;
// unless a mode is set there, which no earlier release can read.
const rulesApprovals = 2

// RulesOf is the oldest decision rules by which a turn with those settings is
// decided as it is by this release.
func RulesOf(e events.Effective) int {
	if slices.ContainsFunc(e.Tools, func(tool events.Tool) bool { return tool.Group == "" || needsApproval(e.Approval, tool) }) {
		return rulesApprovals // a tool of the core, or one that waits for a person
	}
	if canCompact(e) {
		return rulesCompaction
	}
	if e.Budget.Limits() || e.ChatBudget.Limits() {
		return rulesApprovals // before, no turn waited for more
	}
	if e.Plan || e.Titler != "" {
		return rulesApprovals // before, no model was told, or asked for a title
	}
	return 1
}

// approval is what is known of the question whether a call may run.
type approval struct {
	Rev         uint64                  `json:"rev"` // of the commit that asked
	Due         events.Time             `json:"due"`
	Decision    events.ApprovalDecision `json:"decision,omitempty"` // empty while it waits
	Permissions events.Permissions      `json:"permissions,omitzero"`
}

// becauseInterrupted is why nobody decides any more about a call of such a turn.
const becauseInterrupted = "the turn was interrupted"

// allowed is a call that need not be asked about in this chat any more.
type allowed struct {
	Tool      string        `json:"tool"`
	Arguments events.Digest `json:"arguments"`
}

// waits reports whether the call waits for somebody to approve it.
func (c *call) waits() bool {
	return c.open() && c.Approval != nil && c.Approval.Decision == ""
}

// taken reports whether the call was let go already: a runner or the client has it,
// and what has begun cannot be asked about any more.
func (c *call) taken() bool { return c.inHand() || c.Asked }

// inHand reports whether a runner or another chat works on the call, or did.
func (c *call) inHand() bool { return c.Requested != nil || c.Child != nil }

// permissions are what was granted with the call.
func (c *call) permissions() events.Permissions {
	if c.Approval == nil {
		return events.Permissions{}
	}
	return c.Approval.Permissions
}

// unjudged reports whether the call is open, and nobody was asked about it.
func (c *call) unjudged() bool { return c.open() && c.Approval == nil && !c.taken() }

// needsPerson reports whether a call of that tool waits until somebody approves it.
func (s State) needsPerson(t *turn, tool events.Tool) bool {
	return t.Rules >= rulesApprovals && needsApproval(s.mode(t), tool)
}

// isAllowed reports whether the same call was approved for the whole chat.
func (s State) isAllowed(c *call) bool {
	return slices.Contains(s.f.Allowed, allowed{Tool: c.Tool, Arguments: c.argumentsDigest()})
}

// asks is a question for each open call that needs a person and was not asked about.
func (s State) asks(at events.Time) []events.Event {
	t, st := s.lastStep()
	settings := s.effective(t)
	var list []events.Event
	for i := range st.Calls {
		c := &st.Calls[i]
		tool, _ := findTool(settings, c.Tool)
		if !c.unjudged() || !s.needsPerson(t, tool) || s.needsReview(t, tool, c) {
			continue
		}
		list = append(list, s.approvalRequested(t.callID(st, c), at))
	}
	return list
}

// approvalRequested is the question about a call.
func (s State) approvalRequested(id events.CallID, at events.Time) events.ApprovalRequested {
	t, c := s.f.Current, s.call(id)
	settings := s.effective(t)
	tool, _ := findTool(settings, c.Tool)
	return events.ApprovalRequested{
		Call: id, Tool: c.Tool, Arguments: c.argumentsDigest(), Mode: s.mode(t), Policy: tool.Policy,
		Due: at.Add(settings.Limits.ApprovalTime()),
	}
}

// approvedByRule lets those calls go on that wait and need nobody: they were
// approved for the whole chat, or the mode is another one now.
func (s State) approvedByRule() []events.Event {
	t, st := s.lastStep()
	settings := s.effective(t)
	var list []events.Event
	for i := range st.Calls {
		c := &st.Calls[i]
		if !c.waits() {
			continue
		}
		tool, _ := findTool(settings, c.Tool)
		e := events.ApprovalResolved{
			Call: t.callID(st, c), Arguments: c.argumentsDigest(), Decision: events.ApprovalApproved, By: events.ResolvedByRule,
			Scope: events.ScopeCall,
		}
		switch {
		case s.isAllowed(c):
			e.Reason = "approved for this chat before"
		case !s.needsPerson(t, tool):
			e.Reason = fmt.Sprintf("the mode is %s", s.mode(t))
		default:
			continue
		}
		list = append(list, e)
	}
	return list
}

// closed is a result for an open call that nobody is asked about any more, after
// the end of its question if it waits.
func (t *turn) closed(st *step, c *call, reason string, e events.ToolCompleted) []events.Event {
	if !c.waits() {
		return append(c.abandoned(t.callID(st, c)), e)
	}
	return []events.Event{events.ApprovalResolved{
		Call: t.callID(st, c), Arguments: c.argumentsDigest(), Decision: events.ApprovalCancelled, By: events.ResolvedByRule,
		Scope: events.ScopeCall, Reason: reason,
	}, e}
}

// unanswered is what becomes of a call about which nobody has decided in time.
func (s State) unanswered(id events.CallID) []events.Event {
	c := s.call(id)
	if c == nil || !c.waits() {
		return nil
	}
	return []events.Event{events.ApprovalResolved{
		Call: id, Arguments: c.argumentsDigest(), Decision: events.ApprovalDenied, By: events.ResolvedByDeadline,
		Scope: events.ScopeCall, Reason: "no answer",
	}, settledByRule(id, events.ToolDenied, saidUnanswered)}
}

// decideApprove takes the first decision about a call that waits.
func decideApprove(s State, b protocol.Approve, c Command, at events.Time) Decision {
	if wrong := wrongApproval(b); wrong != "" {
		return rejected(c, events.CodeBadCommand, wrong, "")
	}
	known := s.anyCall(b.Call)
	if known == nil {
		return rejected(c, events.CodeUnknownCall, fmt.Sprintf("there is no call %s", b.Call), "")
	}
	status := known.stands()
	if s.reviewing(b.Call) {
		status = "reviewing"
	}
	if b.Arguments != "" && b.Arguments != known.argumentsDigest() {
		return rejected(c, events.CodeArgumentsChanged, fmt.Sprintf("call %s has other arguments now: %s", b.Call, known.argumentsDigest()), status)
	}
	call := s.call(b.Call)
	if call == nil || !call.waits() {
		return rejected(c, events.CodeAlreadyResolved, fmt.Sprintf("call %s does not wait for approval: %s", b.Call, known.why()), status)
	}
	e := events.ApprovalResolved{
		Call: b.Call, Arguments: call.argumentsDigest(), Decision: events.ApprovalApproved, By: events.ResolvedByUser, User: c.By,
		Scope: events.ScopeCall, Reason: events.Shorten(events.RepairText(b.Reason), maxReasonChars),
	}
	if b.Decision == protocol.DecideDeny {
		e.Decision = events.ApprovalDenied
		return s.denied(e, b.Stop, c, at)
	}
	if b.Decision == protocol.DecideApproveForChat {
		e.Scope = events.ScopeChat
	}
	if b.Permissions != nil {
		e.Permissions = *b.Permissions
	}
	edited, wrong := s.edited(call, b.Args, c.Schemas)
	if wrong != "" {
		return rejected(c, events.CodeInvalidAnswer, FailedMessage(wrong), status)
	}
	e.Edited = edited
	return facts(e)
}

// denied closes a call that somebody does not want to run, and asks its turn to
// end if that is wanted, too.
func (s State) denied(e events.ApprovalResolved, stop bool, c Command, at events.Time) Decision {
	said := saidDenied
	if e.Reason != "" {
		said += " The reason: " + e.Reason
	}
	d := facts(e, settledByRule(e.Call, events.ToolDenied, said))
	if stop {
		d.Events = append(d.Events, s.stopTurn(e.Reason, c.By, at, e.Call)...)
	}
	return d
}

// wrongApproval says what is wrong with what the command says, whatever the chat.
func wrongApproval(b protocol.Approve) string {
	denies := b.Decision == protocol.DecideDeny
	switch b.Decision {
	case protocol.DecideApprove, protocol.DecideApproveForChat, protocol.DecideDeny:
	default:
		return fmt.Sprintf("decision: %.20q, want approve, approve_for_chat or deny", b.Decision)
	}
	switch {
	case b.Call == events.CallID{}:
		return "call: want the id of a call"
	case b.Arguments != "" && !b.Arguments.Valid():
		return "arguments: want the digest that the request names"
	case denies && (hasArgs(b.Args) || b.Permissions != nil):
		return "args, permissions: nothing can be changed or granted with a denial"
	case !denies && b.Stop:
		return "stop: goes with a denial only"
	case len(b.Args) > events.MaxArgumentsBytes:
		return fmt.Sprintf("args: %d bytes, at most %d are allowed", len(b.Args), events.MaxArgumentsBytes)
	}
	return wrongPermissions(b.Permissions)
}

func hasArgs(raw json.RawMessage) bool { return len(raw) > 0 && string(raw) != "null" }

func wrongPermissions(p *events.Permissions) string {
	if p == nil {
		return ""
	}
	if len(p.Grants) > events.MaxGrants {
		return fmt.Sprintf("permissions: %d grants, at most %d are allowed", len(p.Grants), events.MaxGrants)
	}
	for i, g := range p.Grants {
		if g == "" || len(g) > events.MaxGrantBytes || events.RepairText(g) != g {
			return fmt.Sprintf("permissions.grants[%d]: want 1 to %d bytes of plain text", i, events.MaxGrantBytes)
		}
	}
	return ""
}

// edited is the call with the arguments that somebody wrote, judged as the model's
// were; nil if they are what they were.
func (s State) edited(c *call, raw json.RawMessage, schemas map[events.Digest]*Schema) (part []events.Part, wrong string) {
	if !hasArgs(raw) {
		return nil, ""
	}
	var compact bytes.Buffer
	if err := json.Compact(&compact, raw); err != nil || !utf8.Valid(raw) {
		return nil, "args: want JSON in UTF-8"
	}
	p := events.Part{Type: events.PartCall, Ordinal: c.Ordinal, Name: c.Tool, Arguments: compact.String()}
	t, _ := s.lastStep()
	if _, wrong := judgeArguments(p, s.effective(t), schemas); wrong != "" {
		return nil, wrong
	}
	if events.DigestOf(compact.Bytes()) == c.argumentsDigest() {
		return nil, ""
	}
	return []events.Part{p}, ""
}

// stands says in a word how a call stands.
func (c *call) stands() string {
	switch {
	case c.Result != nil:
		return string(c.Result.Status)
	case c.waits():
		return "waiting"
	case c.Approval != nil:
		return string(c.Approval.Decision)
	}
	return "running"
}

// why says in a sentence why nobody need approve a call.
func (c *call) why() string {
	said := "it needs none"
	switch {
	case c.Approval != nil:
		said = "it was " + string(c.Approval.Decision)
	case c.Question != nil:
		said = "it asks a person, and answer is the command for that"
	}
	if c.Result != nil {
		return fmt.Sprintf("%s, and its result is there, with status %s", said, c.Result.Status)
	}
	return said
}

// ToolOf is the tool of a call of the newest step, as its turn may use it.
func (s State) ToolOf(id events.CallID) (events.Tool, bool) {
	c := s.call(id)
	if c == nil {
		return events.Tool{}, false
	}
	return findTool(s.effective(s.f.Current), c.Tool)
}

// AwaitingApproval lists the calls that wait for somebody to approve them.
func (s State) AwaitingApproval() []events.CallID {
	t, st := s.lastStep()
	if st == nil {
		return nil
	}
	var list []events.CallID
	for i := range st.Calls {
		if c := &st.Calls[i]; c.waits() {
			list = append(list, t.callID(st, c))
		}
	}
	return list
}

func (s *State) requestApproval(e events.ApprovalRequested) {
	s.call(e.Call).Approval = &approval{Rev: s.f.Rev, Due: e.Due}
	if e.Review != nil {
		st := s.step(e.Review.Step)
		st.Phase, st.Parts = phaseDone, nil
	}
}

func (s *State) resolveApproval(e events.ApprovalResolved) {
	c := s.call(e.Call)
	decided := *c.Approval
	decided.Decision, decided.Permissions = e.Decision, e.Permissions
	c.Approval = &decided
	for _, p := range e.Edited {
		c.Arguments, c.Blob, c.Edited = p.Arguments, p.Blob, true
	}
	if e.Decision != events.ApprovalApproved || e.Scope != events.ScopeChat {
		return
	}
	next := allowed{Tool: c.Tool, Arguments: c.argumentsDigest()}
	kept := slices.DeleteFunc(slices.Clone(s.f.Allowed), func(a allowed) bool { return a == next })
	if len(kept) >= events.MaxRemembered {
		kept = kept[len(kept)-events.MaxRemembered+1:]
	}
	s.f.Allowed = with(kept, next)
}

// misfitApproval says why a question about a call cannot be folded.
func (s State) misfitApproval(e events.ApprovalRequested) string {
	if wrong := s.misfitCall(e.Call); wrong != "" {
		return wrong
	}
	if !s.call(e.Call).unjudged() {
		return fmt.Sprintf("call %s was judged before", e.Call)
	}
	if e.Review != nil {
		return s.misfitReview(e.Call, e.Review.Step)
	}
	return ""
}

// misfitDecision says why a decision about a call cannot be folded.
func (s State) misfitDecision(e events.ApprovalResolved) string {
	if wrong := s.misfitCall(e.Call); wrong != "" {
		return wrong
	}
	if !s.call(e.Call).waits() {
		return fmt.Sprintf("call %s does not wait for approval", e.Call)
	}
	if len(e.Edited) > 1 {
		return fmt.Sprintf("call %s is edited into %d", e.Call, len(e.Edited))
	}
	for _, p := range e.Edited {
		if edited := (&call{Arguments: p.Arguments, Blob: p.Blob}); p.Type != events.PartCall || !edited.runnable() {
			return fmt.Sprintf("call %s is edited into what cannot run", e.Call)
		}
	}
	return ""
}
