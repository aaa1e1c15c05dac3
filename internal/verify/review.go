package verify

import (
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// needsReview reports whether a model is to judge the call before a person is asked.
func (h *history) needsReview(c *call) bool {
	t := h.turn
	if t.settings == nil || t.settings.Reviewer == "" || t.mode != events.ApprovalAuto || t.rules < rulesApprovals {
		return false
	}
	tool, ok := t.tool(c.name)
	return ok && tool.Policy == events.PolicyReview && c.blob == "" && !h.isAllowed(c) &&
		!c.approval.asked.known() && !c.taken() && !c.client.known() && !c.result.known()
}

// reviewRequested judges I9 for a step that is to judge a call: one that needs it, by
// the model that the turn names, within its time.
func (h *history) reviewRequested(e events.StepRequested) {
	if e.Call == nil || e.Step.Turn == 0 || h.turn == nil {
		h.breaks(RuleApprovals, Place{}, "step %s is to review no call", e.Step)
		return
	}
	t := h.turn
	if s := t.settings; s != nil && (e.Model != s.Reviewer || e.Pool != s.ReviewerPool) {
		h.breaks(RuleApprovals, t.start, "step %s asks model %q of pool %q for a review, the turn names %q of %q", e.Step, e.Model, e.Pool, s.Reviewer, s.ReviewerPool)
	}
	if d := e.Due.Sub(h.at); e.Due == 0 || d > chat.ReviewTime {
		h.breaks(RuleBounds, Place{}, "step %s has %s for its review, at most %s may be", e.Step, d, chat.ReviewTime)
	}
	if again := t.stepOf(e.Step); again != nil {
		if again.call == nil || *again.call != *e.Call {
			h.breaks(RuleApprovals, again.requested, "step %s is to review another call than before", e.Step)
		}
		return
	}
	c, ok := h.find(*e.Call, e, RuleApprovals)
	if !ok {
		return
	}
	if _, why := h.barred(c); why != "" || t.settings != nil && !h.needsReview(c) {
		h.breaks(RuleApprovals, c.asked, "step %s is to review %s, which needs none", e.Step, describe(c.id, "call"))
	}
}

// needless reports whether the step is a review of a call that needs none any more.
func (h *history) needless(s *step) bool {
	if s.call == nil || h.turn.step == nil || h.turn.settings == nil {
		return s.call != nil && h.turn.settings == nil
	}
	for _, c := range h.turn.step.calls {
		if c.id == *s.call {
			return !h.needsReview(c)
		}
	}
	return false
}

// endsReview reports whether e ends the open review of a turn that goes on: the
// only interruption that follows from what its commit begins with. Whether the
// review was still needed is judged with the step.
func (h *history) endsReview(c events.Commit, e events.Event) bool {
	ends, is := e.(events.StepInterrupted)
	if !is || h.turn == nil || h.turn.interrupt.known() {
		return false
	}
	for _, other := range c.Events {
		if _, stops := other.(events.TurnInterruptRequested); stops {
			return false
		}
	}
	s := h.turn.stepOf(ends.Step)
	return s != nil && s.call != nil
}

// reviewedBy judges I10 for a question about a call: it says what a review came to
// exactly if there was one to be had.
func (h *history) reviewedBy(c *call, e events.ApprovalRequested) {
	what := describe(e.Call, "call")
	if e.Review == nil {
		if h.needsReview(c) && !h.turn.held.known() && !h.turn.budget.overdrawn() && !h.budget.overdrawn() {
			h.breaks(RuleApprovals, c.asked, "a person is asked about %s, and no model was before", what)
		}
		return
	}
	h.message(e.Review.Reason)
	s := h.turn.other
	if s == nil || s.id != e.Review.Step || s.call == nil || *s.call != e.Call {
		h.breaks(RuleApprovals, c.asked, "%s was not reviewed in step %s", what, e.Review.Step)
		return
	}
	switch {
	case s.phase != stepCompleted && s.phase != stepFailed:
		h.breaks(RuleApprovals, s.requested, "%s is said to be reviewed in step %s, which is not over", what, s.id)
	case s.phase == stepFailed && e.Review.Class != s.class, s.phase == stepCompleted && e.Review.Class != "":
		h.breaks(RuleApprovals, s.closed, "the review of %s is said to have failed with %q, step %s with %q", what, e.Review.Class, s.id, s.class)
	case s.phase == stepFailed && s.closed != h.here:
		h.breaks(RuleApprovals, s.closed, "step %s has not just failed to review %s", s.id, what)
	}
}

// approves reports whether a review of the call is over and says yes.
func (h *history) approves(c *call) bool {
	s, asked := h.turn.other, c.approval.request.Review
	return asked != nil && s != nil && s.id == asked.Step && s.phase == stepCompleted && s.stop == events.StopEnd &&
		c.approval.asked == h.here && saysYes(s.said)
}

// saysYes reads a verdict: one line, a word, and a reason.
func saysYes(text string) bool {
	text = strings.TrimSpace(text)
	const yes = "approve:"
	return !strings.ContainsAny(text, "\r\n") && len(text) > len(yes) && strings.EqualFold(text[:len(yes)], yes) &&
		strings.TrimSpace(text[len(yes):]) != ""
}

// verdictOf is the text of an answer.
func verdictOf(parts []events.Part) string {
	var texts []string
	for _, p := range parts {
		if p.Type == events.PartText {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n")
}

// underReview reports whether the call waits for a model's judgement: one is asked
// now, about this call or about another one before.
func (h *history) underReview(c *call) bool {
	return h.needsReview(c) && h.turn.other.asks()
}
