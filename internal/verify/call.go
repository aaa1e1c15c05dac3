package verify

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// call is a call of the newest step.
type call struct {
	id        events.CallID
	name      string
	arguments string
	blob      events.Digest // in place of large arguments

	asked     Place // the completed step
	requested Place // handed out
	request   events.ToolRequested
	started   Place // the newest licence
	licence   events.ToolStarted
	starts    int
	result    Place
	status    events.ToolStatus
}

// callsOf judges I7 for a completed step and gives its calls.
func (h *history) callsOf(s *step, parts []events.Part) {
	s.calls = nil
	for _, p := range parts {
		if p.Type != events.PartCall {
			continue
		}
		if want := len(s.calls) + 1; p.Ordinal != want {
			h.breaks(RuleCalls, Place{}, "call %d of step %s has the ordinal %d", want, s.id, p.Ordinal)
		}
		s.calls = append(s.calls, &call{
			id:   events.CallID{Turn: s.id.Turn, Step: s.id.Step, Ordinal: p.Ordinal},
			name: p.Name, arguments: p.Arguments, blob: p.Blob, asked: h.here,
		})
	}
	if n := len(s.calls); n > events.MaxCallsPerStep {
		h.breaks(RuleBounds, Place{}, "step %s has %d calls, at most %d may be", s.id, n, events.MaxCallsPerStep)
	}
}

// find gives the call if it is one of the newest step of the open turn: no other
// can have anything happen to it.
func (h *history) find(id events.CallID, e events.Event, r Rule) (*call, bool) {
	if !h.belongs(id.Turn, e) {
		return nil, false
	}
	if s := h.turn.step; s != nil {
		for _, c := range s.calls {
			if c.id == id {
				return c, true
			}
		}
	}
	h.breaks(r, h.turn.start, "%s of %s, which the newest step did not ask for", e.EventType(), describe(id, "call"))
	return nil, false
}

func (h *history) toolRequested(e events.ToolRequested) {
	c, ok := h.find(e.Call, e, RuleCalls)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	h.starts(what)
	if c.requested.known() {
		h.breaks(RuleCalls, c.requested, "%s is handed out twice", what)
	}
	if c.result.known() {
		h.breaks(RuleLicence, c.result, "%s is handed out after its result", what)
	}
	if key := protocol.IdempotencyKey(h.key, e.Call); e.Key != key {
		h.breaks(RuleCalls, c.asked, "%s has the key %s, not its own, %s", what, e.Key, key)
	}
	if !c.hasArguments(e.Arguments) {
		h.breaks(RuleCalls, c.asked, "%s is handed out with other arguments than the model wrote", what)
	}
	if e.Tool != c.name {
		h.breaks(RuleCalls, c.asked, "%s of tool %s is handed out as one of %s", what, c.name, e.Tool)
	}
	h.mayRun(c, e)
	h.deadline(e)
	c.requested, c.request = h.here, e
}

// hasArguments reports whether the digest is that of what the model wrote.
func (c *call) hasArguments(d events.Digest) bool {
	if c.blob != "" {
		return d == c.blob
	}
	text := c.object()
	var compact bytes.Buffer
	if err := json.Compact(&compact, []byte(text)); err == nil && d == events.DigestOf(compact.Bytes()) {
		return true
	}
	return d == events.DigestOf([]byte(text)) || d == events.DigestOf([]byte(c.arguments))
}

// object is the arguments as a runner gets them: none at all are an empty object.
func (c *call) object() string {
	switch text := strings.TrimSpace(c.arguments); text {
	case "", "null":
		return "{}"
	default:
		return text
	}
}

// mayRun judges I9 for a call that is handed out: what must be true before
// anybody can be given leave to run it.
func (h *history) mayRun(c *call, e events.ToolRequested) {
	what := describe(e.Call, "call")
	if h.turn.step.stop == events.StopLength {
		h.breaks(RuleLicence, c.asked, "%s is handed out though its step was cut off", what)
	}
	if c.blob == "" {
		var object map[string]json.RawMessage
		if json.Unmarshal([]byte(c.object()), &object) != nil || object == nil {
			h.breaks(RuleLicence, c.asked, "%s is handed out with arguments that are no object", what)
		}
	}
	if h.turn.settings == nil {
		return
	}
	tool, ok := h.turn.tool(e.Tool)
	switch {
	case !ok:
		h.breaks(RuleLicence, h.turn.start, "%s is handed out, and the turn has no tool %s", what, e.Tool)
	case tool.Group != e.Group, tool.Manifest != e.Manifest, tool.Idempotent != e.Idempotent,
		tool.ReadOnly != e.ReadOnly, tool.TimeoutMS != e.TimeoutMS:
		h.breaks(RuleLicence, h.turn.start, "%s is handed out with other terms than the turn's tool %s has", what, e.Tool)
	case needsPerson(h.turn.settings.Approval, tool):
		h.breaks(RuleLicence, h.turn.start, "%s of tool %s is handed out without approval", what, e.Tool)
	}
}

func (t *turn) tool(name string) (events.Tool, bool) {
	if t.settings == nil {
		return events.Tool{}, false
	}
	for _, tool := range t.settings.Tools {
		if tool.Name == name {
			return tool, true
		}
	}
	return events.Tool{}, false
}

func needsPerson(mode events.ApprovalMode, t events.Tool) bool {
	switch mode {
	case events.ApprovalFull:
		return false
	case events.ApprovalAsk:
		return !t.ReadOnly
	case events.ApprovalAuto:
		return t.Policy != events.PolicyAllow
	}
	return true
}

func (h *history) toolStarted(e events.ToolStarted) {
	c, ok := h.find(e.Call, e, RuleLicence)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	h.starts(what)
	switch {
	case c.result.known() && c.status == events.ToolUnknown:
		h.breaks(RuleOnce, c.result, "%s starts after it was given up as unknown", what)
	case c.result.known():
		h.breaks(RuleLicence, c.result, "%s starts after its result", what)
	case !c.requested.known():
		h.breaks(RuleLicence, c.asked, "%s starts without having been handed out", what)
	}
	if h.cause.Kind != events.CausedByClaim || h.cause.ID != e.Claim {
		h.breaks(RuleLicence, Place{}, "%s starts under claim %s in a commit that answers %s %s", what, e.Claim, h.cause.Kind, h.cause.ID)
	}
	c.starts++
	switch {
	case c.request.Idempotent && c.starts > events.MaxStartsIdempotent:
		h.breaks(RuleBounds, c.started, "%s starts %d times, at most %d may be", what, c.starts, events.MaxStartsIdempotent)
	case !c.request.Idempotent && c.starts > 1:
		h.breaks(RuleOnce, c.started, "%s starts twice, and its tool is not idempotent", what)
	}
	c.started, c.licence = h.here, e
}

func (h *history) toolCompleted(e events.ToolCompleted) {
	c, ok := h.find(e.Call, e, RuleResults)
	if !ok {
		return
	}
	if c.result.known() {
		h.breaks(RuleResults, c.result, "%s has a second result", describe(e.Call, "call"))
		return
	}
	if e.Runner == "" {
		h.settledByRule(c, e)
	} else {
		h.reported(c, e)
	}
	c.result, c.status = h.here, e.Status
	if tool, ok := h.turn.tool(c.name); ok && tool.StopAfter && e.Status == events.ToolOK {
		h.turn.stopAfter = h.here
	}
	h.effects.settled(h, c, e)
}

// reported judges I9 for a result that a runner sent: it had the licence to run.
func (h *history) reported(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if h.turn.step.stop == events.StopLength {
		h.breaks(RuleLicence, c.asked, "%s ran though its step was cut off", what)
	}
	if e.Status != events.ToolOK && e.Status != events.ToolError {
		return
	}
	switch {
	case !c.requested.known():
		h.breaks(RuleLicence, c.asked, "%s ran without having been handed out", what)
	case !c.request.Idempotent && c.starts == 0:
		h.breaks(RuleLicence, c.requested, "%s ran without having been started, and its tool is not idempotent", what)
	}
}

// settledByRule judges the word of a result that no runner sent: it must not say
// that nothing happened when something may have, nor the other way round.
func (h *history) settledByRule(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	certainlyNot := !c.requested.known() || c.request.ReadOnly || !c.request.Idempotent && c.starts == 0
	switch e.Status {
	case events.ToolOK:
		h.breaks(RuleLicence, c.asked, "%s succeeded, and no runner says so", what)
	case events.ToolError:
		if c.requested.known() && !c.request.Idempotent {
			h.breaks(RuleLicence, c.requested, "%s failed, and no runner says so", what)
		}
	case events.ToolDenied, events.ToolInvalid, events.ToolNotFound:
		if c.requested.known() {
			h.breaks(RuleLicence, c.requested, "%s is %s after it was handed out", what, e.Status)
		}
	case events.ToolUnknown:
		if !c.requested.known() || !c.request.Idempotent && c.starts == 0 {
			h.breaks(RuleLicence, c.asked, "%s is unknown though it certainly never began", what)
		}
		h.givenUp(c)
	case events.ToolTimeout, events.ToolCancelled:
		if !certainlyNot {
			h.breaks(RuleLicence, c.requested, "%s is %s though it may have had its effect", what, e.Status)
		}
		h.settledBecause(c, e)
	}
}

// givenUp judges a call that a claim settles as unknown: another claim than the
// one that was granted, and not before the grant has died.
func (h *history) givenUp(c *call) {
	if h.cause.Kind != events.CausedByClaim || c.starts == 0 {
		return
	}
	what := describe(c.id, "call")
	if h.cause.ID == c.licence.Claim {
		h.breaks(RuleLicence, c.started, "%s is given up because its own claim was asked again", what)
	}
	if age := h.at.Sub(c.licence.At); age < events.Dead {
		h.breaks(RuleLicence, c.started, "%s is given up %s after its start, when it may still begin", what, age)
	}
}

// settledBecause judges I12: what never ran was stopped by something.
func (h *history) settledBecause(c *call, e events.ToolCompleted) {
	deadline := protocol.TimerName{Kind: protocol.TimerDeadline, Call: c.id}.String()
	switch {
	case e.Status == events.ToolTimeout && h.cause.ID != deadline:
		h.breaks(RuleLicence, c.asked, "%s timed out without its timer %s", describe(e.Call, "call"), deadline)
	case e.Status == events.ToolCancelled && !h.turn.interrupt.known():
		h.breaks(RuleInterrupts, c.asked, "%s is cancelled, and nobody asked for it", describe(e.Call, "call"))
	}
}
