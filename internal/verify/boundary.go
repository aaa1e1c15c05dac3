package verify

import (
	"slices"

	"github.com/everturn/everturn/events"
)

// boundary judges what must be so whenever a commit ends. All that follows from
// a message by itself is in its commit, so whatever is still to come waits for
// somebody: a model, a runner, a timer, a person. Nothing waits for nobody.
func (h *history) boundary() {
	t := h.turn
	if h.closing {
		h.closed()
		return
	}
	h.leftover(h.aside)
	if t != nil && !t.held.known() {
		h.leftover(t.other)
	}
	if t == nil {
		h.waitsForNobody()
		h.dueForNobody()
		return
	}
	h.leaves(t)
	h.dueStopped()
	s := t.step
	h.children(s)
	h.steeredBehind()
	if t.stopper != "" && !t.interrupt.known() {
		h.breaks(RuleInterrupts, t.start, "turn %d goes on though input %s came to stop it", t.number, t.stopper)
		t.stopper = ""
	}
	switch {
	case t.interrupt.known():
		h.ending(t)
	case t.held.known() && (s == nil || s.phase != stepCompleted || len(s.openCalls()) == 0):
		// It waits for more to spend.
	case s != nil && s.afterCompaction && !t.other.asks():
		h.breaks(RuleAttempts, s.closed, "step %s is to be tried again with less, and nothing makes it less", s.id)
	case t.steps == 0:
		h.breaks(RuleSteps, t.start, "turn %d has no step though its commit is over", t.number)
	case t.failedForGood() != nil && !t.goesOnBehind(t.failedForGood()):
		s := t.failedForGood()
		h.breaks(RuleAttempts, s.closed, "step %s failed for good, and turn %d goes on", s.id, t.number)
	case s != nil && s.phase == stepCompleted:
		h.settles(s)
		h.asksAll(s)
		h.handsOut(s)
	}
}

// waitsForNobody judges I13 where no turn is open.
func (h *history) waitsForNobody() {
	if h.ended.failed && !h.wanted || h.summing() {
		return // they wait for a person, or for a summary
	}
	for i := range h.waiting {
		in := &h.waiting[i]
		if !in.reported {
			in.reported = true
			h.breaks(RuleInputs, in.at, "input %s waits, and no turn runs", in.id)
		}
	}
}

// ending judges I12 in a turn that is to end: what can never have begun is
// closed with the request, and the turn is over when nothing is open.
func (h *history) ending(t *turn) {
	s := t.step
	if t.reported {
		return
	}
	if t.open() == nil && (s == nil || len(s.openCalls()) == 0) {
		t.reported = true
		h.breaks(RuleInterrupts, t.interrupt, "turn %d was asked to end, nothing in it is open, and it has not ended", t.number)
		return
	}
	if s == nil {
		return
	}
	for _, c := range s.openCalls() {
		if !c.taken() {
			t.reported = true
			h.breaks(RuleInterrupts, t.interrupt, "%s was not handed out when turn %d was asked to end, and has no result", describe(c.id, "call"), t.number)
		}
	}
}

// settles judges I9 for the calls that must not run: they have their results
// when the commit of their step ends.
func (h *history) settles(s *step) {
	for _, c := range s.openCalls() {
		if c.asked != h.here || c.taken() || c.question.asked.known() {
			continue
		}
		if _, why := h.barred(c); why != "" {
			h.breaks(RuleLicence, c.asked, "%s has no result, though %s", describe(c.id, "call"), why)
		}
	}
}

// handsOut judges I6: what can go on does so at once.
func (h *history) handsOut(s *step) {
	if s.reported {
		return
	}
	if len(s.openCalls()) == 0 {
		if h.turn.other.asks() {
			return
		}
		s.reported = true
		h.breaks(RuleSteps, s.closed, "step %s is settled, and neither another step nor the end of turn %d follows", s.id, s.id.Turn)
		return
	}
	runnable := h.runnable(s)
	if first := s.openCalls()[0]; !first.client.known() && !slices.ContainsFunc(s.openCalls(), func(c *call) bool {
		return c.approval.waits() || !h.turn.isClients(c)
	}) {
		s.reported = true
		h.breaks(RuleSteps, s.closed, "only calls of the client are open, and it is not asked for %s", describe(first.id, "call"))
	}
	for _, c := range runnable {
		if !c.taken() && !h.nothingToGrant(c) {
			s.reported = true
			h.breaks(RuleSteps, s.closed, "%s may run, and is not handed out", describe(c.id, "call"))
		}
	}
}

// runnable lists the open calls that may run now: those that do, and behind them in
// their order those that can run beside them. One that waits for a person is not
// among them, nor is one for whose child there is no place.
func (h *history) runnable(s *step) []*call {
	if h.turn.settings == nil {
		return nil
	}
	var list []*call
	alone, children := false, s.openChildren()
	for _, c := range s.openCalls() {
		if c.taken() {
			list = append(list, c)
			alone = alone || !h.turn.parallel(c)
		}
	}
	for _, c := range s.openCalls() {
		switch {
		case c.taken(), c.approval.waits(), c.question.asked.known(), h.turn.isClients(c), h.needsReview(c): // for somebody else than a runner: nobody waits for that
			continue
		case alone, !h.turn.parallel(c) && len(list) > 0:
			return list
		case h.turn.delegates(c):
			if children++; children > events.MaxOpenChildren {
				continue
			}
		}
		list = append(list, c)
		alone = !h.turn.parallel(c)
	}
	return list
}

// parallel reports whether the call may run beside others.
func (t *turn) parallel(c *call) bool {
	tool, ok := t.tool(c.name)
	return ok && tool.Parallel
}

// inTurn judges I9 for a call that is handed out: those that run do so beside it,
// which both must allow, and nobody before it is passed over but who waits for a
// person.
func (h *history) inTurn(c *call) {
	if h.turn.settings == nil {
		return
	}
	for _, other := range h.turn.step.openCalls() {
		if other == c || other.approval.waits() || h.needsReview(other) || other.id.Ordinal > c.id.Ordinal && !other.taken() {
			continue
		}
		if h.turn.isClients(other) {
			continue
		}
		if !h.turn.parallel(c) || !h.turn.parallel(other) {
			h.breaks(RuleLicence, other.asked, "%s is handed out before %s has its result, and both do not run beside others",
				describe(c.id, "call"), describe(other.id, "call"))
			return
		}
	}
}

// What keeps a call from running.
const (
	barredByLength   = "its step was cut off"
	barredByRefusal  = "its step was refused"
	barredAsNotAlone = "a tool of its step must be the only call"
	barredAsUnknown  = "its turn has no such tool"
	barredByForm     = "its arguments are no object"
	barredByApproval = "it needs an approval, and the rules of its turn know of none"
)

// barred gives the result that the call must have instead of running, and why;
// nothing if it may run as far as its log can tell. That is not quite all: whether
// its arguments fit their schema is judged by [history.fits].
func (h *history) barred(c *call) (events.ToolStatus, string) {
	s := h.turn.step
	switch s.stop {
	case events.StopLength:
		return events.ToolInvalid, barredByLength
	case events.StopRefused:
		return events.ToolInvalid, barredByRefusal
	case events.StopEnd, events.StopCalls, events.StopPaused:
	}
	if h.turn.settings != nil && h.turn.mustBeAlone(s) {
		return events.ToolDenied, barredAsNotAlone
	}
	tool, ok := h.turn.tool(c.name)
	switch {
	case h.turn.settings != nil && !ok:
		return events.ToolNotFound, barredAsUnknown
	case c.blob == "" && !c.isObject():
		return events.ToolInvalid, barredByForm
	case h.turn.settings != nil && h.turn.rules < rulesApprovals && needsPerson(h.turn.settings.Approval, tool):
		return events.ToolDenied, barredByApproval
	}
	return "", ""
}

// mustBeAlone reports whether the step has several calls, and one of them is of
// a tool that must be the only one.
func (t *turn) mustBeAlone(s *step) bool {
	if len(s.calls) < 2 {
		return false
	}
	for _, c := range s.calls {
		if tool, ok := t.tool(c.name); ok && tool.Exclusive {
			return true
		}
	}
	return false
}

// instead judges I9 for a call that got a result instead of running: at once,
// and the one that belongs to the reason.
func (h *history) instead(c *call, status events.ToolStatus) {
	what := describe(c.id, "call")
	if c.requested.known() {
		h.breaks(RuleLicence, c.requested, "%s is %s after it was handed out", what, status)
		return
	}
	if status == events.ToolDenied && h.denied(c) {
		return
	}
	if c.asked != h.here && (!c.edited || !h.turn.delegates(c)) { // what a person made of a task may be none
		h.breaks(RuleLicence, c.asked, "%s is %s later than its step asked for it", what, status)
	}
	want, why := h.barred(c)
	switch {
	case want == status:
	case why == "" && status == events.ToolInvalid, why == barredByApproval && status == events.ToolInvalid:
		// Its arguments do not fit their schema, or are too large.
	case why == "" && h.turn.settings != nil:
		h.breaks(RuleLicence, c.asked, "%s is %s for no reason", what, status)
	case why != "":
		h.breaks(RuleLicence, c.asked, "%s is %s and not %s, though %s", what, status, want, why)
	}
}
