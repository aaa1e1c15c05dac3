package verify

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// reported judges I9 for a result that a runner sent: it had the licence to run.
func (h *history) reported(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s ran, though %s", what, why)
	}
	switch {
	case !c.requested.known():
		h.breaks(RuleLicence, c.asked, "%s ran without having been handed out", what)
	case !c.request.Idempotent && c.starts == 0:
		h.breaks(RuleLicence, c.requested, "%s ran without having been started, and its tool is not idempotent", what)
	}
	switch e.Status {
	case events.ToolDenied:
		h.breaks(RuleLicence, c.asked, "%s is denied by a runner, and no runner may say so", what)
	case events.ToolCancelled:
		if !h.turn.interrupt.known() {
			h.breaks(RuleInterrupts, c.asked, "%s is cancelled, and nobody asked for it", what)
		}
	case events.ToolOK, events.ToolError, events.ToolTimeout, events.ToolUnknown, events.ToolInvalid, events.ToolNotFound:
		// A runner's own words.
	}
}

// settledByRule judges the word of a result that no runner sent: it must not say
// that nothing happened when something may have, nor the other way round.
func (h *history) settledByRule(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	if e.Runner != "" {
		h.breaks(RuleLicence, c.asked, "%s names the runner %s in a commit that no runner caused", what, e.Runner)
	}
	if c.child.spawned.known() {
		h.childResult(c, e)
		return
	}
	if c.question.asked.known() && !c.requested.known() {
		h.askedResult(c, e)
		return
	}
	if c.client.known() {
		h.clientResult(c, e)
		return
	}
	switch e.Status {
	case events.ToolOK:
		if h.showsSkill(c) {
			h.skillShown(c, e)
		} else if !h.creates(c) {
			h.breaks(RuleLicence, c.asked, "%s succeeded, and no runner says so", what)
		}
	case events.ToolError:
		h.givenUpOften(c)
	case events.ToolDenied, events.ToolInvalid, events.ToolNotFound:
		h.instead(c, e.Status)
	case events.ToolUnknown:
		h.unknown(c)
	case events.ToolTimeout, events.ToolCancelled:
		if c.requested.known() && !c.certainlyNot() {
			h.breaks(RuleLicence, c.requested, "%s is %s though it may have had its effect", what, e.Status)
		}
		h.settledBecause(c, e)
	}
}

// certainlyNot reports whether a call that was handed out can have had no
// effect, as far as the log tells.
func (c *call) certainlyNot() bool {
	return c.request.ReadOnly || !c.request.Idempotent && c.starts == 0
}

// givenUpOften judges the one failure that no runner reports: an idempotent call
// that was started again and again, and claimed once more.
func (h *history) givenUpOften(c *call) {
	if c.request.Idempotent && c.starts >= events.MaxStartsIdempotent && h.cause.Kind == events.CausedByClaim {
		return
	}
	h.breaks(RuleLicence, c.asked, "%s failed, and no runner says so", describe(c.id, "call"))
}

// unknown judges a call of which nobody can say what it did.
func (h *history) unknown(c *call) {
	what := describe(c.id, "call")
	if !c.requested.known() || !c.request.Idempotent && c.starts == 0 {
		h.breaks(RuleLicence, c.asked, "%s is unknown though it certainly never began", what)
		return
	}
	switch {
	case h.cause.Kind == events.CausedByClaim:
		h.givenUp(c)
	case h.cause.ID == endTimer(h.turn) && h.turn.interrupt.known(), h.cause.ID == deadlineTimer(c):
		if c.request.ReadOnly {
			h.breaks(RuleLicence, c.requested, "%s is unknown, and its tool only reads", what)
		}
	default:
		h.breaks(RuleLicence, c.started, "%s is unknown, and neither a claim nor a timer gave it up", what)
	}
}

// givenUp judges a call that a claim settles as unknown: another claim than the
// one that was granted, and not before the grant has died.
func (h *history) givenUp(c *call) {
	what := describe(c.id, "call")
	if c.request.Idempotent {
		h.breaks(RuleLicence, c.requested, "%s is given up as unknown, and may run again", what)
		return
	}
	if h.cause.ID == c.licence.Claim {
		h.breaks(RuleLicence, c.started, "%s is given up because its own claim was asked again", what)
	}
	if age := h.at.Sub(c.licence.At); age < events.Dead {
		h.breaks(RuleLicence, c.started, "%s is given up %s after its start, when it may still begin", what, age)
	}
}

// settledBecause judges I12: what never ran was stopped by something.
func (h *history) settledBecause(c *call, e events.ToolCompleted) {
	what := describe(e.Call, "call")
	switch {
	case e.Status == events.ToolTimeout:
		if h.cause.ID != deadlineTimer(c) {
			h.breaks(RuleLicence, c.asked, "%s timed out without its timer %s", what, deadlineTimer(c))
		}
	case !h.turn.interrupt.known():
		h.breaks(RuleInterrupts, c.asked, "%s is cancelled, and nobody asked for it", what)
	case c.requested.known() && h.cause.ID != endTimer(h.turn):
		h.breaks(RuleInterrupts, c.requested, "%s was handed out and is cancelled before the timer %s", what, endTimer(h.turn))
	}
}

func deadlineTimer(c *call) string {
	return protocol.TimerName{Kind: protocol.TimerDeadline, Call: c.id}.String()
}

func endTimer(t *turn) string {
	return protocol.TimerName{Kind: protocol.TimerEnd, Turn: t.number}.String()
}
