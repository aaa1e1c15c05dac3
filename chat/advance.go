package chat

import (
	"slices"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Advance returns what a state brings about by itself, in one round; the caller
// folds it and asks again until nothing follows. Its order is the order of the
// rules: open calls, a stop-after tool, the model's own end, the step limit, the
// budget, what people want the turn to know, compaction, the next step. What people
// want it to know keeps it from ending.
func Advance(s State, at events.Time, live Live) []events.Event {
	t, st := s.lastStep()
	if aside := s.f.Aside; aside != nil && aside.Phase == phaseCrashed {
		return []events.Event{s.nextAttempt(0, aside)} // beside a turn, too
	}
	switch {
	case t == nil && s.namesNow():
		return []events.Event{s.askTitle()}
	case t == nil && s.f.Aside != nil:
		return s.outside(at, live)
	case t == nil:
		return s.nextTurn(at, live)
	case s.Interrupting():
		return s.finishInterrupt()
	case t.Allowance.Held != nil && s.reports():
		return s.stopTurn(events.ReasonBudget, "", at) // its parent does not wait until somebody extends it
	}
	if _, asked := s.pending(); asked != nil {
		return s.meanwhile(asked, at)
	}
	if list := s.afterSummary(t); list != nil {
		return list
	}
	if list := s.afterReview(t, at); list != nil {
		return list
	}
	if st == nil {
		if s.effective(t).NoAgent {
			return s.withoutAgent(t)
		}
		if list, held := s.held(at); held {
			return list
		}
		if list := s.steer(); list != nil && t.Cause != events.CauseRetry { // that one asks the same again
			return list
		}
		return s.informed()
	}
	switch st.Phase {
	case phaseOpen, phaseWaiting, phaseCrashed: // pending
	case phaseFailed:
		if st.Class != events.ClassContentFilter { // which is an answer: the model will not say it
			return []events.Event{events.TurnFailed{Turn: t.Number, Class: st.Class, Message: st.Message, Totals: t.totals()}}
		}
	case phaseTooLarge:
		if list, held := s.held(at); held {
			return list
		}
		return []events.Event{s.again(t, st)}
	case phaseInterrupted, phaseCompleted, phaseDone: // interrupted only while interrupting
	}
	if list, open := s.handOut(at); open {
		return list
	}
	steered := s.steer()
	if finish := s.finished(); finish != "" && steered == nil && !t.steeredSince(st.Number) {
		return []events.Event{s.completed(finish)}
	}
	if list, held := s.held(at); held {
		return list
	}
	if steered != nil {
		return steered
	}
	return s.informed()
}

// informed is the next step, or first what its model is to know for it.
func (s State) informed() []events.Event {
	if list := s.activations(); len(list) > 0 {
		return list
	}
	return []events.Event{s.nextAnswer()}
}

// outside is what follows while a model is asked outside of any turn. The next
// turn waits for a summary: it shows what that is about.
func (s State) outside(at events.Time, live Live) []events.Event {
	st := s.f.Aside
	if st.Purpose != events.PurposeSummary {
		return s.nextTurn(at, live)
	}
	if e := s.judgeSummary(0, st); e != nil {
		return []events.Event{e}
	}
	return nil
}

// afterSummary is what follows the newest step of a turn, if that was to write a
// summary and is over. A turn that could not be made shorter has failed.
func (s State) afterSummary(t *turn) []events.Event {
	if len(t.Steps) == 0 {
		return nil
	}
	st := t.Steps[len(t.Steps)-1]
	if st.Purpose != events.PurposeSummary {
		return nil
	}
	if e := s.judgeSummary(t.Number, st); e != nil {
		return []events.Event{e}
	}
	if st.Class == "" {
		return nil
	}
	return []events.Event{events.TurnFailed{Turn: t.Number, Class: st.Class, Message: st.Message, Totals: t.totals()}}
}

// meanwhile is what goes on while a model is asked in the open turn: calls do, if
// what it is asked for is no answer. A judgement that nobody needs any more is not
// waited for.
func (s State) meanwhile(asked *step, at events.Time) []events.Event {
	t, st := s.lastStep()
	if asked.Phase == phaseOpen && s.needless(asked) {
		return []events.Event{events.StepInterrupted{Step: events.StepID{Turn: t.Number, Step: asked.Number}, Attempt: asked.Attempt}}
	}
	if asked.Phase == phaseCrashed {
		list, held := s.held(at)
		if !held {
			list = []events.Event{s.nextAttempt(t.Number, asked)}
		}
		if len(list) > 0 {
			return list
		}
	}
	if st == nil || st.Phase != phaseCompleted {
		return nil
	}
	list, _ := s.handOut(at)
	return list
}

// nextTurn starts a turn for what waits. Inputs of the same mode come along
// with the first, each a message of its own.
func (s State) nextTurn(at events.Time, live Live) []events.Event {
	if due := s.f.Sibling; due != nil {
		return []events.Event{s.siblingStarted(*due, at, live)}
	}
	if len(s.f.Waiting) == 0 || s.f.Stalled {
		return nil
	}
	return []events.Event{s.turnStarted(events.CauseInput, batch(s.f.Waiting), at, live)}
}

// handOut gives out the calls that may run now, and reports whether any call of
// the step is open. Neighbours that may run beside others go together; every
// other runs alone, in the model's order. That is the order of those that run: one
// that waits for a person comes when it is approved, and holds back nobody.
func (s State) handOut(at events.Time) (list []events.Event, open bool) {
	if list := slices.Concat(s.asks(at), s.approvedByRule(), s.reviews(at)); len(list) > 0 {
		return list, true
	}
	t, st := s.lastStep()
	settings := s.effective(t)
	running, alone := 0, false
	clients, waits := false, false
	children := len(s.OpenChildren())
	for i := range st.Calls {
		if c := &st.Calls[i]; c.open() && c.inHand() {
			tool, _ := findTool(settings, c.Tool)
			running, alone, open = running+1, alone || !tool.Parallel, true
		}
	}
	for i := range st.Calls {
		c := &st.Calls[i]
		if !c.open() || c.inHand() {
			continue
		}
		open = true
		tool, _ := findTool(settings, c.Tool)
		if c.waits() || c.Question != nil || tool.Client || s.needsReview(t, tool, c) {
			clients = clients || tool.Client && !c.waits()
			waits = waits || !tool.Client || c.waits()
			continue // for a person, for a model, or for the client: it holds back nobody
		}
		if alone || !tool.Parallel && running > 0 {
			return list, true // it waits for those that run, and those behind it wait for it
		}
		if isDelegate(tool) {
			begun := s.spawned(t.callID(st, c), c, children, at, list)
			list = append(list, begun...)
			if len(begun) > 0 && !isReached(begun[0]) {
				children++
			}
			running++ // also one that waits for a place or for something to spend: those behind it keep their order
			continue
		}
		list = append(list, s.toolRequested(t.callID(st, c), c, tool, at))
		running, alone = running+1, !tool.Parallel
	}
	if clients && !waits && running == 0 {
		list = s.askClient(at)
	}
	return list, open
}

func (s State) toolRequested(id events.CallID, c *call, tool events.Tool, at events.Time) events.ToolRequested {
	timeout := time.Duration(tool.TimeoutMS) * time.Millisecond
	return events.ToolRequested{
		Call: id, Tool: tool.Name, Group: tool.Group, Manifest: tool.Manifest,
		Arguments: c.argumentsDigest(), Key: protocol.IdempotencyKey(s.Key(), id),
		Idempotent: tool.Idempotent, ReadOnly: tool.ReadOnly,
		TimeoutMS: tool.TimeoutMS, Deadline: at.Add(timeout + events.Dead),
	}
}

// argumentsDigest is the digest of the arguments as the model wrote them; a runner
// gets the same JSON without needless white space. Large arguments lie in a blob
// of that name already.
func (c *call) argumentsDigest() events.Digest {
	if c.Blob != "" {
		return c.Blob
	}
	return events.DigestOf([]byte(normalArguments(c.Arguments)))
}

// finished says how the turn ends after its newest step, whose calls all have
// results; empty means it goes on.
func (s State) finished() events.Finish {
	t, st := s.lastStep()
	settings := s.effective(t)
	for i := range st.Calls {
		c := &st.Calls[i]
		if tool, _ := findTool(settings, c.Tool); tool.StopAfter && c.Result.Status == events.ToolOK {
			return events.FinishStopAfterTool
		}
	}
	switch {
	case st.Phase == phaseFailed, st.Stop == events.StopRefused:
		return events.FinishRefused
	case len(st.Calls) == 0 && st.Stop == events.StopLength:
		return events.FinishLength
	case len(st.Calls) == 0 && st.Stop != events.StopPaused:
		return events.FinishComplete
	case t.answersSinceInput() >= settings.Limits.Steps:
		return events.FinishMaxSteps
	}
	return ""
}

func (s State) completed(finish events.Finish) events.TurnCompleted {
	t := s.f.Current
	return events.TurnCompleted{Turn: t.Number, Finish: finish, Totals: t.totals()}
}
