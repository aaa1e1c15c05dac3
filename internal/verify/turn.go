package verify

import (
	"fmt"
	"strconv"

	"github.com/everturn/everturn/events"
)

// turn is the open turn.
type turn struct {
	number    int
	parent    int
	cause     events.TurnCause
	start     Place
	settings  *events.Effective // nil if the log did not say
	rules     int
	mode      events.ApprovalMode // in force
	step      *step               // the newest that answers
	other     *step               // the newest of another purpose
	steps     int                 // of all purposes
	answers   int                 // those that answer
	attempts  int
	calls     int
	final     Place // the final answer
	stopAfter Place // success of a tool that ends the turn
	usage     events.Usage

	unbelievable bool // something in usage cannot be true

	stopper     string // the newest input that came to stop it
	skills      []events.SkillActivated
	steered     int // the newest step before which it took inputs, 0 if none
	before      int // how many steps answered before that
	compactions int // by which the context became shorter

	inputs     int // which it began with
	budget     budget
	began      events.Time
	held       Place // where it began to wait for its budget; not known while it does not
	heldAt     events.Time
	waitedMS   int64
	extensions int
	extended   Place // the newest

	interrupt Place // the request
	allowance int   // events that may still come before the end
	reported  bool  // as not ending
}

// eventsAfterInterrupt is how many events a turn may still have after the
// request to end it, besides one for each call that was open.
const eventsAfterInterrupt = 5

func (h *history) turnStarted(e events.TurnStarted) {
	if h.turn != nil {
		h.breaks(RuleTurns, h.turn.start, "turn %d starts while turn %d is open", e.Turn, h.turn.number)
	}
	newest := h.newestTurn()
	if e.Turn != newest+1 {
		h.breaks(RuleTurns, h.ended.at, "turn %d starts after turn %d", e.Turn, newest)
	}
	if e.Parent < 0 || e.Parent >= e.Turn {
		h.breaks(RuleTurns, Place{}, "turn %d has parent %d", e.Turn, e.Parent)
	}
	switch e.Cause {
	case events.CauseInput:
		if len(e.Inputs) == 0 {
			h.breaks(RuleOutcomes, Place{}, "turn %d begins without input and without another cause", e.Turn)
		}
		if h.ended.failed && !h.wanted {
			h.breaks(RuleInputs, h.ended.at, "turn %d takes what waited after turn %d failed, and nobody asked for it", e.Turn, h.ended.number)
		}
	case events.CauseEdit, events.CauseRegenerate:
		// Judged with what it is to be beside.
	case events.CauseRetry, events.CauseContinue:
		if e.Parent == 0 {
			h.breaks(RuleOutcomes, Place{}, "turn %d is to %s nothing", e.Turn, e.Cause)
		}
		if len(e.Inputs) > 0 {
			h.breaks(RuleOutcomes, Place{}, "turn %d of cause %s takes inputs", e.Turn, e.Cause)
		}
		if of := h.tree.get(e.Parent); e.Cause == events.CauseRetry && !of.failed || e.Cause == events.CauseContinue && !of.goesOn {
			h.breaks(RuleOutcomes, h.ended.at, "turn %d is to %s turn %d, which did not end so", e.Turn, e.Cause, e.Parent)
		}
	default:
		h.breaks(RuleOutcomes, Place{}, "turn %d has the cause %q", e.Turn, e.Cause)
	}
	if h.summing() {
		h.breaks(RuleCompaction, h.aside.requested, "turn %d starts while step %s sums up what is before it", e.Turn, h.aside.id)
	}
	if h.tree.due == nil {
		h.begins(e)
	}
	h.take(e.Inputs, h.beside(e))
	h.wanted = false
	h.tree.start(e)
	for i := range h.waiting {
		h.waiting[i].rolls = 0 // the chat goes on here
	}
	h.turn = &turn{
		number: e.Turn, parent: e.Parent, cause: e.Cause, start: h.here, settings: h.recordedSettings(e.Settings), rules: e.Rules,
		began: e.At, inputs: len(e.Inputs),
	}
	if h.turn.settings != nil {
		h.startsWith(h.turn.settings)
		h.turn.mode = h.turn.settings.Approval
		h.startsInMode(h.turn)
		h.startsPlanning(h.turn)
		h.startsAtDepth(h.turn)
		h.startsGranted(h.turn)
	}
}

func (h *history) newestTurn() int {
	if h.turn != nil {
		return h.turn.number
	}
	return h.ended.number
}

// recordedSettings finds what the turn runs with, here or in an earlier turn.
func (h *history) recordedSettings(r events.RecordedSettings) *events.Effective {
	if r.Body != nil {
		h.recorded(r)
		h.settings.put(string(r.Digest), r.Body)
		return r.Body
	}
	body, ok := h.settings.get(string(r.Digest))
	if !ok {
		h.breaks(RuleTenants, Place{}, "no earlier turn of the chat has settings %s", r.Digest)
		return nil
	}
	return body
}

func (h *history) interruptRequested(e events.TurnInterruptRequested) {
	if !h.belongs(e.Turn, e) {
		return
	}
	t := h.turn
	if t.interrupt.known() {
		h.breaks(RuleInterrupts, t.interrupt, "turn %d is asked to end twice", e.Turn)
		return
	}
	t.interrupt = h.here
	t.allowance = eventsAfterInterrupt
	if t.step != nil {
		for _, c := range t.step.openCalls() {
			t.allowance++
			if c.approval.waits() || c.child.spawned.known() {
				t.allowance++
			}
		}
	}
	if d := e.Due.Sub(h.at); d > events.EndDelay || d < events.EndDelay-events.Skew {
		h.breaks(RuleBounds, Place{}, "the end timer is due %s after the request, and not %s", d, events.EndDelay)
	}
}

// belongs judges I4: whether an event of a turn lies between its start and end.
// It also counts what may come after an interrupt.
func (h *history) belongs(number int, e events.Event) bool {
	if h.turn == nil || h.turn.number != number {
		at, ended := h.ends.get(strconv.Itoa(number))
		if !ended && h.turn != nil {
			at = h.turn.start
		}
		h.breaks(RuleBelonging, at, "%s belongs to turn %d, which is not open", e.EventType(), number)
		return false
	}
	if t := h.turn; t.interrupt.known() {
		t.allowance--
		if t.allowance == -1 {
			h.breaks(RuleInterrupts, t.interrupt, "turn %d has not ended though it was asked to", number)
		}
	}
	return true
}

// starts judges I12: nothing begins in a turn that is to end.
func (h *history) starts(what string) {
	if t := h.turn; t.interrupt.known() {
		h.breaks(RuleInterrupts, t.interrupt, "%s begins after turn %d was asked to end", what, t.number)
	}
}

func (h *history) turnCompleted(e events.TurnCompleted) {
	if !h.endsOpen(e.Turn, e) {
		return
	}
	t := h.turn
	h.reads(fmt.Sprintf("turn %d is completed", e.Turn))
	if t.interrupt.known() {
		h.breaks(RuleInterrupts, t.interrupt, "turn %d was asked to end and is completed", e.Turn)
	}
	if ok, want := h.finished(e.Finish); !ok {
		h.breaks(RuleOutcomes, Place{}, "turn %d finishes %s without %s", e.Turn, e.Finish, want)
	}
	if t.final.known() && e.Finish != events.FinishComplete {
		h.breaks(RuleOutcomes, t.final, "turn %d has a final answer and finishes %s", e.Turn, e.Finish)
	}
	if t.stopAfter.known() && e.Finish != events.FinishStopAfterTool {
		h.breaks(RuleOutcomes, t.stopAfter, "turn %d has called a tool that ends it and finishes %s", e.Turn, e.Finish)
	}
	goesOn := e.Finish == events.FinishMaxSteps || e.Finish == events.FinishLength || e.Finish == events.FinishStopAfterTool
	h.endTurn(e.Totals, endedTurn{goesOn: goesOn, completed: true, settings: t.settings})
	h.kin.over(h, t, events.ChildCompleted, e.Totals, e.Finish)
}

// finished reports whether the open turn can end like that, and if not, what is
// missing.
func (h *history) finished(f events.Finish) (bool, string) {
	t := h.turn
	last := t.step
	answered := last != nil && last.phase == stepCompleted
	switch f {
	case events.FinishComplete:
		return t.final.known(), "a final answer"
	case events.FinishStopAfterTool:
		return t.stopAfter.known(), "a successful tool that ends turns"
	case events.FinishMaxSteps:
		return answered && t.answers-t.before >= t.limit(), "having reached its limit of steps"
	case events.FinishRefused:
		return last != nil && last.filtered() || answered && last.stop == events.StopRefused, "a refusal"
	case events.FinishLength:
		return answered && last.stop == events.StopLength && len(last.calls) == 0, "an answer cut by its length"
	}
	return false, "a meaning"
}

func (t *turn) limit() int {
	if t.settings == nil || t.settings.Limits.Steps == 0 {
		return events.MaxStepsPerTurn
	}
	return t.settings.Limits.Steps
}

func (h *history) turnFailed(e events.TurnFailed) {
	if !h.endsOpen(e.Turn, e) {
		return
	}
	t := h.turn
	if t.interrupt.known() {
		h.breaks(RuleInterrupts, t.interrupt, "turn %d was asked to end and fails", e.Turn)
	}
	if t.final.known() {
		h.breaks(RuleOutcomes, t.final, "turn %d has a final answer and fails", e.Turn)
	}
	switch s := t.failedForGood(); {
	case s == nil && t.settings != nil && t.settings.NoAgent && e.Class == events.ClassInvalidRequest: // it cannot begin
	case (s == nil || s.filtered()) && e.Class == events.ClassContextTooLarge && t.open() == nil && t.settings != nil && t.settings.Window > 0:
		t.steered = 0 // it did not fit, with a summary or without one, nor with what was said meanwhile
	case s == nil:
		h.breaks(RuleOutcomes, t.start, "turn %d fails, and no step of it has", e.Turn)
	case s.class != e.Class:
		h.breaks(RuleOutcomes, s.closed, "turn %d fails as %s, and its step as %s", e.Turn, e.Class, s.class)
	case s.class == events.ClassContentFilter && s.purpose == events.PurposeAnswer:
		h.breaks(RuleOutcomes, s.closed, "turn %d fails, though a filter refused the answer, which is a finish", e.Turn)
	}
	h.endTurn(e.Totals, endedTurn{failed: true})
	h.kin.over(h, t, events.ChildFailed, e.Totals, "")
}

func (h *history) turnInterrupted(e events.TurnInterrupted) {
	if !h.endsOpen(e.Turn, e) {
		return
	}
	t := h.turn
	if want := h.whyClosed(); h.closing && e.Reason != want {
		h.breaks(RuleInterrupts, Place{}, "turn %d is interrupted because %q, and not because it is %s", e.Turn, e.Reason, want)
	}
	if !t.interrupt.known() && !h.closing {
		h.breaks(RuleInterrupts, Place{}, "turn %d is interrupted, and nobody asked for it", e.Turn)
	}
	if t.final.known() && !t.held.known() { // else it was to read something more when there is more to spend
		h.breaks(RuleOutcomes, t.final, "turn %d has a final answer and is interrupted", e.Turn)
	}
	h.endTurn(e.Totals, endedTurn{goesOn: true})
	came := events.ChildInterrupted
	if t.held.known() {
		came = events.ChildBudget
	}
	h.kin.over(h, t, came, e.Totals, "")
}

// endsOpen judges what every end of a turn has in common: it is the open turn's,
// and the first.
func (h *history) endsOpen(number int, e events.Event) bool {
	if h.turn == nil {
		at, _ := h.ends.get(strconv.Itoa(number))
		h.breaks(RuleTurns, at, "%s of turn %d, and no turn is open", e.EventType(), number)
		return false
	}
	if h.turn.number != number {
		h.breaks(RuleTurns, h.turn.start, "%s of turn %d while turn %d is open", e.EventType(), number, h.turn.number)
		return false
	}
	return h.belongs(number, e)
}

// endTurn closes the open turn after judging that nothing in it is open. How is
// what is to be remembered of its end.
func (h *history) endTurn(totals events.Totals, how endedTurn) {
	t := h.turn
	h.steeredBehind()
	if s := t.open(); s != nil {
		h.breaks(RuleAttempts, s.requested, "turn %d ends over attempt %d of step %s", t.number, s.attempt, s.id)
	}
	if s := t.step; s != nil {
		for _, open := range s.openCalls() {
			h.breaks(RuleResults, s.closed, "turn %d ends over %s", t.number, describe(open.id, "call"))
			h.childless(open, fmt.Sprintf("turn %d ends", t.number))
			if open.approval.waits() {
				h.breaks(RuleApprovals, open.approval.asked, "turn %d ends, and nobody has decided about %s", t.number, describe(open.id, "call"))
			}
		}
	}
	if totals.Steps != t.steps || totals.Attempts != t.attempts || totals.Calls != t.calls {
		h.breaks(RuleOutcomes, t.start, "turn %d counts %d steps, %d attempts and %d calls; the log has %d, %d and %d", t.number,
			totals.Steps, totals.Attempts, totals.Calls, t.steps, t.attempts, t.calls)
	}
	if totals.Usage != t.usage && !t.unbelievable {
		h.breaks(RuleOutcomes, t.start, "turn %d counts the tokens %+v; the log has %+v", t.number, totals.Usage, t.usage)
	}
	h.ends.put(strconv.Itoa(t.number), h.here)
	how.number, how.at = t.number, h.here
	h.tree.end(t.number, how)
	h.ended = how
	h.turn = nil
}
