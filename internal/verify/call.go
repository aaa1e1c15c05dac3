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
	approval  approval
	requested Place // handed out
	request   events.ToolRequested
	started   Place // the newest licence
	licence   events.ToolStarted
	starts    int
	result    Place
	status    events.ToolStatus
	question  question
	client    Place // where the client was asked for it
	child     child
	edited    bool // the arguments are not the model's
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
	if e.Group == "" {
		h.breaks(RuleLicence, c.asked, "%s is handed out to nobody: its tool is no runner's", what)
	}
	if key := protocol.IdempotencyKey(h.owner(), e.Call); e.Key != key {
		h.breaks(RuleCalls, c.asked, "%s has the key %s, not its own, %s", what, e.Key, key)
	}
	if !c.hasArguments(e.Arguments) {
		h.breaks(RuleCalls, c.asked, "%s is handed out with other arguments than the model wrote", what)
	}
	if e.Tool != c.name {
		h.breaks(RuleCalls, c.asked, "%s of tool %s is handed out as one of %s", what, c.name, e.Tool)
	}
	h.mayRunApproved(c, "handed out")
	h.mayRun(c, e)
	h.inTurn(c)
	h.fits(c, e.Manifest)
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

// isObject reports whether the arguments are one JSON object.
func (c *call) isObject() bool {
	var object map[string]json.RawMessage
	return json.Unmarshal([]byte(c.object()), &object) == nil && object != nil
}

// mayRun judges I9 for a call that is handed out: what must be true before
// anybody can be given leave to run it.
func (h *history) mayRun(c *call, e events.ToolRequested) {
	what := describe(e.Call, "call")
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s is handed out, though %s", what, why)
	}
	tool, ok := h.turn.tool(e.Tool)
	if ok && (tool.Group != e.Group || tool.Manifest != e.Manifest || tool.Idempotent != e.Idempotent ||
		tool.ReadOnly != e.ReadOnly || tool.TimeoutMS != e.TimeoutMS) {
		h.breaks(RuleLicence, h.turn.start, "%s is handed out with other terms than the turn's tool %s has", what, e.Tool)
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
	h.mayRunApproved(c, "started")
	if h.cause.Kind != events.CausedByClaim || h.cause.ID != e.Claim {
		h.breaks(RuleLicence, Place{}, "%s starts under claim %s in a commit that answers %s %s", what, e.Claim, h.cause.Kind, h.cause.ID)
	}
	if e.At.Add(events.Dead) > c.request.Deadline && c.requested.known() {
		h.breaks(RuleLicence, c.requested, "%s starts so near its deadline that it may begin after it", what)
	}
	if c.requested.known() && c.request.Idempotent && e.Delivery <= max(c.licence.Delivery, 1) {
		h.breaks(RuleOnce, c.started, "%s starts under delivery %d, which is no later one", what, e.Delivery)
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
	if e.Status != events.ToolOK && !e.IsError {
		h.breaks(RuleResults, c.asked, "%s is %s, and its result is not marked as an error", describe(e.Call, "call"), e.Status)
	}
	h.afterApproval(c, e)
	h.afterChild(c, e)
	h.kept(c, e)
	switch {
	case h.closing:
		h.leftOpen(c, e)
	case h.cause.Kind == events.CausedByResult:
		h.reported(c, e)
	default:
		h.settledByRule(c, e)
	}
	c.result, c.status = h.here, e.Status
	h.gave(c, e)
	if tool, ok := h.turn.tool(c.name); ok && tool.StopAfter && e.Status == events.ToolOK {
		h.turn.stopAfter = h.here
	}
	h.effects.settled(h, c, e)
}
