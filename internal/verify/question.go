package verify

import (
	"slices"
	"strings"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// question is what a call asks a person.
type question struct {
	asked    Place
	event    events.QuestionAsked
	number   int // of the questions of its call
	timers   int // set so far for the call; the newest has this number
	held     bool
	ends     events.Time // when nobody waits any more, since it was first held
	leftMS   int64
	changed  Place // when it was held or let run on last
	answered Place
}

// questionAsked judges I9 and I20: a person is asked by a call that may run. It is one
// of a tool that is no runner's, alone in its step and with its step; or a runner is at
// work on it.
func (h *history) questionAsked(e events.QuestionAsked) {
	c, ok := h.find(e.Call, e, RuleCalls)
	if !ok {
		return
	}
	what := describe(e.Call, "call")
	h.starts(what)
	if c.result.known() {
		h.breaks(RuleLicence, c.result, "%s asks after its result", what)
	}
	if _, why := h.barred(c); why != "" {
		h.breaks(RuleLicence, c.asked, "%s asks a person, though %s", what, why)
	}
	least, ends := events.MinQuestionTimeout, events.Time(0)
	if h.cause.Kind == events.CausedByAsk {
		least, ends = events.MinAskTimeout, c.request.Deadline.Add(-events.Dead-events.AskReserve)
		h.askedByRunner(c, e, ends)
	} else {
		h.askedByModel(c)
	}
	h.questions(what, e.Questions)
	timeout := time.Duration(e.TimeoutMS) * time.Millisecond
	if timeout < least || timeout > events.MaxQuestionTimeout || e.Due.Sub(h.at) > timeout {
		h.breaks(RuleBounds, Place{}, "%s waits %s for an answer, and %s until its timer", what, timeout, e.Due.Sub(h.at))
	}
	c.question = question{asked: h.here, event: e, number: c.question.number + 1, timers: c.question.timers + 1, ends: ends}
}

// askedByModel judges I9 for a call that does nothing but ask.
func (h *history) askedByModel(c *call) {
	what := describe(c.id, "call")
	switch q := &c.question; {
	case q.asked.known():
		h.breaks(RuleCalls, q.asked, "%s asks twice", what)
	case c.requested.known():
		h.breaks(RuleLicence, c.requested, "%s asks a person, and a runner has it", what)
	case c.asked != h.here:
		h.breaks(RuleLicence, c.asked, "%s asks later than its step", what)
	}
	if tool, ok := h.turn.tool(c.name); ok && (tool.Group != "" || tool.Client || c.name != toolAskUser) {
		h.breaks(RuleLicence, h.turn.start, "%s asks a person, and its tool %s does not", what, c.name)
	}
	if n := len(h.turn.step.calls); n > 1 {
		h.breaks(RuleLicence, c.asked, "%s asks a person beside %d other calls", what, n-1)
	}
}

// askedByRunner judges I9 and I20 for a call that a runner works on: it has the licence
// to, asks one thing after the other and not too often, and has time left for what
// follows from the answer.
func (h *history) askedByRunner(c *call, e events.QuestionAsked, ends events.Time) {
	what := describe(c.id, "call")
	switch q := &c.question; {
	case !c.requested.known():
		h.breaks(RuleLicence, c.asked, "a runner asks a person for %s, which it was not given", what)
	case !c.request.Idempotent && c.starts == 0:
		h.breaks(RuleLicence, c.requested, "%s asks a person without having been started, and its tool is not idempotent", what)
	case q.asked.known() && !q.answered.known():
		h.breaks(RuleCalls, q.asked, "%s asks again before it is answered", what)
	case q.number >= events.MaxAsksPerCall:
		h.breaks(RuleBounds, q.asked, "%s asks once more than %d times", what, events.MaxAsksPerCall)
	case e.Due > ends:
		h.breaks(RuleBounds, c.requested, "%s waits for an answer until %s, and has to go on at %s", what, e.Due, ends)
	}
}

// toolAskUser is the one tool that asks people.
const toolAskUser = "ask_user"

// questions judges that a person can answer what is asked.
func (h *history) questions(what string, list []events.Question) {
	if n := len(list); n < 1 || n > events.MaxQuestions {
		h.breaks(RuleBounds, Place{}, "%s asks %d questions, 1 to %d may be", what, n, events.MaxQuestions)
	}
	seen := map[string]bool{}
	for _, q := range list {
		if seen[q.ID] {
			h.breaks(RuleCalls, Place{}, "%s asks two questions with the id %q", what, q.ID)
		}
		seen[q.ID] = true
		if n := len(q.Options); n < events.MinOptions || n > events.MaxOptions {
			h.breaks(RuleBounds, Place{}, "question %q has %d options, %d to %d may be", q.ID, n, events.MinOptions, events.MaxOptions)
		}
		texts := []string{q.ID, q.Header, q.Text}
		for _, o := range q.Options {
			texts = append(texts, o.Label, o.Description)
		}
		if slices.ContainsFunc(texts, func(s string) bool { return strings.TrimSpace(s) == "" }) {
			h.breaks(RuleCalls, Place{}, "question %q has something blank in it", q.ID)
		}
	}
}

// asking gives the call if it waits for a person's answer.
func (h *history) asking(id events.CallID, e events.Event) (*call, bool) {
	c, ok := h.find(id, e, RuleResults)
	if !ok {
		return nil, false
	}
	what := describe(id, "call")
	switch q := c.question; {
	case !q.asked.known():
		h.breaks(RuleResults, c.asked, "%s of %s, which asked nobody", e.EventType(), what)
		return nil, false
	case c.result.known():
		h.breaks(RuleResults, c.result, "%s of %s after its result", e.EventType(), what)
	case q.answered.known():
		h.breaks(RuleResults, q.answered, "%s of %s, which was answered", e.EventType(), what)
	}
	return c, true
}

// questionHeld judges that a question is held or runs on, each after the other,
// and that it loses no time by it.
func (h *history) questionHeld(e events.QuestionHeld) {
	c, ok := h.asking(e.Call, e)
	if !ok {
		return
	}
	q, what := &c.question, describe(e.Call, "call")
	if e.Held == q.held {
		h.breaks(RuleResults, q.asked, "%s is held twice, or runs on twice", what)
	}
	left := time.Duration(e.LeftMS) * time.Millisecond
	switch {
	case left < 0 || left > time.Duration(q.event.TimeoutMS)*time.Millisecond:
		h.breaks(RuleBounds, q.asked, "%s has %s left, of %d ms in all", what, left, q.event.TimeoutMS)
	case !e.Held && e.LeftMS != q.leftMS:
		h.breaks(RuleBounds, q.changed, "%s runs on with %d ms, and had %d left", what, e.LeftMS, q.leftMS)
	}
	wait := events.MaxHold
	if !e.Held {
		wait = left
	}
	if d := e.Due.Sub(h.at); d > wait {
		h.breaks(RuleBounds, q.asked, "the timer of %s is due in %s, at most %s may be", what, d, wait)
	}
	switch {
	case q.ends == 0:
		q.ends = e.Due
	case e.Due > q.ends:
		h.breaks(RuleBounds, q.changed, "%s is waited for until %s, and its first hold ends at %s", what, e.Due, q.ends)
	}
	q.timers++
	q.held, q.leftMS, q.changed = e.Held, e.LeftMS, h.here
}

// questionAnswered judges that each question has one answer; that nobody is said
// to have answered when the time was over, nor the other way round.
func (h *history) questionAnswered(e events.QuestionAnswered) {
	c, ok := h.asking(e.Call, e)
	if !ok {
		return
	}
	q, what := &c.question, describe(e.Call, "call")
	if len(e.Answers) != len(q.event.Questions) {
		h.breaks(RuleResults, q.asked, "%s has %d answers to %d questions", what, len(e.Answers), len(q.event.Questions))
	}
	for i, a := range e.Answers[:min(len(e.Answers), len(q.event.Questions))] {
		asked := q.event.Questions[i]
		switch {
		case a.Question != asked.ID:
			h.breaks(RuleResults, q.asked, "answer %d of %s is to question %q, and that is %q", i+1, what, a.Question, asked.ID)
		case strings.TrimSpace(a.Text) == "":
			h.breaks(RuleResults, q.asked, "the answer to question %q is blank", a.Question)
		case e.Expired && len(asked.Options) > 0 && a.Text != asked.Options[0].Label:
			h.breaks(RuleResults, q.asked, "question %q has another answer than its first option, and nobody gave one", a.Question)
		}
	}
	timer := protocol.TimerName{Kind: protocol.TimerQuestion, Call: e.Call, Number: q.timers}.String()
	byTimer := h.cause.Kind == events.CausedByTimer
	switch {
	case e.Expired != byTimer:
		h.breaks(RuleResults, q.asked, "%s is answered by %s, and expired is %t", what, h.cause.Kind, e.Expired)
	case byTimer && h.cause.ID != timer:
		h.breaks(RuleResults, q.changed, "%s expires by %s, and its newest timer is %s", what, h.cause.ID, timer)
	}
	q.answered = h.here
}

// askedResult judges the result of a call that did nothing but ask: it has the answer,
// or was cancelled with its turn.
func (h *history) askedResult(c *call, e events.ToolCompleted) {
	q, what := c.question, describe(e.Call, "call")
	switch e.Status {
	case events.ToolOK:
		if q.answered != h.here {
			h.breaks(RuleResults, q.asked, "%s succeeded without an answer in its commit", what)
		}
	case events.ToolCancelled:
		if !h.turn.interrupt.known() {
			h.breaks(RuleInterrupts, q.asked, "%s is cancelled, and nobody asked for it", what)
		}
		if q.answered.known() {
			h.breaks(RuleResults, q.answered, "%s was answered and is cancelled", what)
		}
	case events.ToolError, events.ToolDenied, events.ToolTimeout, events.ToolUnknown, events.ToolInvalid, events.ToolNotFound:
		h.breaks(RuleResults, q.asked, "%s asked a person and is %s", what, e.Status)
	}
}
