package verify

import "github.com/everturn/everturn/events"

// Effect is a line of the ledger that tools write when they act: what really
// happened outside.
type Effect struct {
	Key            events.Key
	Call           events.CallID
	IdempotencyKey string
}

// effectsOfChat are a chat's lines of the ledger by call; a call leaves it when
// it has been judged.
type effectsOfChat map[events.CallID][]Effect

func effectsOf(k events.Key, ledger []Effect) effectsOfChat {
	of := make(effectsOfChat)
	for _, e := range ledger {
		if e.Key == k {
			of[e.Call] = append(of[e.Call], e)
		}
	}
	return of
}

// settled judges I11 for a call that has got its result: what the ledger has of
// it against what the log allowed.
func (l effectsOfChat) settled(h *history, c *call, e events.ToolCompleted) {
	lines := l[c.id]
	delete(l, c.id)
	if len(lines) == 0 {
		return
	}
	what := describe(c.id, "call")
	switch {
	case !c.requested.known():
		h.breaks(RuleOnce, c.asked, "%s had an effect and was never handed out", what)
		return
	case e.Status == events.ToolDenied, e.Status == events.ToolInvalid, e.Status == events.ToolNotFound,
		e.Status == events.ToolCancelled && !c.request.ReadOnly:
		h.breaks(RuleOnce, c.asked, "%s had an effect and its result is %s", what, e.Status)
	case !c.request.Idempotent && c.starts == 0:
		h.breaks(RuleOnce, c.requested, "%s had an effect without a start, and its tool is not idempotent", what)
	}
	if !c.request.Idempotent && len(lines) > 1 {
		h.breaks(RuleOnce, c.started, "%s had its effect %d times, and its tool is not idempotent", what, len(lines))
	}
	ownKey(h, c, lines)
}

// unsettled judges the effects whose calls have no result yet.
func (l effectsOfChat) unsettled(h *history) {
	if h.turn == nil || h.turn.step == nil {
		return
	}
	for _, c := range h.turn.step.openCalls() {
		lines := l[c.id]
		delete(l, c.id)
		if len(lines) == 0 {
			continue
		}
		what := describe(c.id, "call")
		if !c.requested.known() || !c.request.Idempotent && c.starts == 0 {
			h.breaks(RuleOnce, c.asked, "%s had an effect without a licence", what)
		}
		if !c.request.Idempotent && len(lines) > 1 {
			h.breaks(RuleOnce, c.started, "%s had its effect %d times, and its tool is not idempotent", what, len(lines))
		}
		ownKey(h, c, lines)
	}
}

// ownKey judges that all effects of a call bear its key, which no other has.
func ownKey(h *history, c *call, lines []Effect) {
	for _, line := range lines {
		if line.IdempotencyKey != c.request.Key {
			h.breaks(RuleOnce, c.requested, "%s acted under the key %s, not its own, %s", describe(c.id, "call"), line.IdempotencyKey, c.request.Key)
		}
	}
}

// effects judges what the ledger has of calls that no log knows.
func (c *Checker) effects() {
	for _, k := range c.Chats() {
		h := c.chats[k]
		h.here = h.last
		h.effects.unsettled(h)
	}
	for _, e := range c.options.Effects {
		h, ok := c.chats[e.Key]
		if !ok {
			c.found = append(c.found, Violation{Rule: RuleOnce, Chat: e.Key, Detail: describe(e.Call, "an effect belongs to a chat without a log, call")})
			continue
		}
		if _, left := h.effects[e.Call]; left && !h.newer {
			h.breaks(RuleOnce, Place{}, "call %s had an effect, and the log has no such call", e.Call)
			delete(h.effects, e.Call)
		}
	}
}
