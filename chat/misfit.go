package chat

import (
	"fmt"

	"github.com/everturn/everturn/events"
)

// maxNumber bounds the numbers of turns, steps and attempts. No chat comes near it,
// and a state may begin with half of it: to count on from there takes for ever.
const maxNumber = 1<<31 - 1

// misfit says why an event cannot be folded into s, or nothing. It is no judge of
// logs: it finds only what the rest of this package could not work with, such as
// the result of a call that nobody made. Nothing that was ever decided is one.
func (s State) misfit(e events.Event) string {
	if s.Erased() {
		return s.misfitErased(e)
	}
	switch e := e.(type) {
	case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputEdited, events.InputPromoted, events.InputWithdrawn,
		events.ModeSet, events.AgentNamed:
		return ""
	case events.ChatTitled:
		return s.misfitTitle(e)
	case events.ChatSpawned:
		return s.misfitBirth()
	case events.ChildSpawned:
		return s.misfitSpawn(e)
	case events.ChildEnded:
		return s.misfitChildEnd(e)
	case events.InputSteered:
		return s.misfitSteering(e)
	case events.SkillActivated:
		return s.misfitActivation(e)
	case events.BranchSelected:
		return s.misfitBranch(e)
	case events.ChatEraseRequested:
		return s.misfitAskErasure()
	case events.ChatErased:
		return s.misfitBury()
	case events.ContentDeleted:
		return s.misfitEmpty()
	case events.TurnStarted:
		return s.misfitStart(e)
	case events.TurnInterruptRequested:
		return s.misfitTurn(e.Turn)
	case events.TurnCompleted:
		return s.misfitTurn(e.Turn)
	case events.TurnFailed:
		return s.misfitTurn(e.Turn)
	case events.TurnInterrupted:
		return s.misfitTurn(e.Turn)
	case events.StepRequested:
		return s.misfitRequest(e)
	case events.StepCompleted:
		if wrong := s.misfitAttempt(e.Step, e.Attempt); wrong != "" {
			return wrong
		}
		if s.step(e.Step).Purpose != events.PurposeAnswer && callsIn(e.Parts) > 0 {
			return fmt.Sprintf("step %s calls tools, and is not there to answer", e.Step)
		}
		return misnumbered(e.Parts)
	case events.StepFailed:
		return s.misfitAttempt(e.Step, e.Attempt)
	case events.StepInterrupted:
		return s.misfitAttempt(e.Step, e.Attempt)
	case events.BudgetReached:
		return s.misfitHold(e)
	case events.BudgetExtended:
		return s.misfitExtension(e)
	case events.ApprovalRequested:
		return s.misfitApproval(e)
	case events.ApprovalResolved:
		return s.misfitDecision(e)
	case events.ContextCompacted:
		return s.misfitCompaction(e)
	case events.ContextCompactionFailed:
		return s.misfitFailure(e)
	case events.ContextCleared:
		return s.misfitClear(e)
	case events.ContextRestored:
		return s.misfitRestore(e)
	case events.ToolRequested:
		return s.misfitCall(e.Call)
	case events.ToolStarted:
		return s.misfitCall(e.Call)
	case events.ToolCompleted:
		if wrong := s.misfitCall(e.Call); wrong != "" {
			return wrong
		}
		return s.misfitArtifacts(e.Artifacts)
	case events.ActionRequested:
		return s.misfitAction(e)
	case events.QuestionAsked:
		return s.misfitAsked(e)
	case events.QuestionHeld:
		return s.misfitQuestion(e.Call)
	case events.QuestionAnswered:
		return s.misfitQuestion(e.Call)
	}
	panic(fmt.Sprintf("chat: no judgement of %T", e)) // the set is closed: a case is missing above
}

func (s State) misfitStart(e events.TurnStarted) string {
	last := s.newest()
	switch {
	case s.f.Current != nil:
		return fmt.Sprintf("turn %d starts while turn %d is open", e.Turn, s.f.Current.Number)
	case e.Turn <= last || e.Turn > maxNumber:
		return fmt.Sprintf("turn %d starts after turn %d", e.Turn, last)
	case e.Parent != 0 && s.ended(e.Parent) == nil:
		return fmt.Sprintf("turn %d follows turn %d, which was never started", e.Turn, e.Parent)
	case e.Again != 0 && s.ended(e.Again) == nil:
		return fmt.Sprintf("turn %d is to answer turn %d again, which was never started", e.Turn, e.Again)
	}
	if e.Again == 0 {
		return s.misfitInputs(e.Turn, e.Inputs)
	}
	for _, id := range e.Inputs {
		if _, again := s.said(e.Again, id); !again && waitingAt(s.f.Waiting, id) < 0 {
			return fmt.Sprintf("turn %d takes input %.40q, which does not wait", e.Turn, id)
		}
	}
	return ""
}

func (s State) misfitInputs(turn int, ids []string) string {
	for _, id := range ids {
		if waitingAt(s.f.Waiting, id) < 0 {
			return fmt.Sprintf("turn %d takes input %.40q, which does not wait", turn, id)
		}
	}
	return ""
}

func (s State) misfitSteering(e events.InputSteered) string {
	if wrong := s.misfitTurn(e.Step.Turn); wrong != "" {
		return wrong
	}
	if t, open := s.pending(); open != nil {
		return fmt.Sprintf("step %s is to take inputs while step %d.%d is under way", e.Step, t.Number, open.Number)
	}
	if next := len(s.f.Current.Steps) + 1; e.Step.Step != next {
		return fmt.Sprintf("step %s is to take inputs where step %d.%d should be", e.Step, e.Step.Turn, next)
	}
	return s.misfitInputs(e.Step.Turn, e.Inputs)
}

func (s State) misfitTurn(number int) string {
	if open, ok := s.Running(); !ok || open != number {
		return fmt.Sprintf("turn %d is not open", number)
	}
	return ""
}

func (s State) misfitRequest(e events.StepRequested) string {
	number, open := s.f.Asides+1, s.f.Aside // the number that a new one has, and the one that is under way
	if e.Step.Turn != 0 {
		if wrong := s.misfitTurn(e.Step.Turn); wrong != "" {
			return wrong
		}
		number = len(s.f.Current.Steps) + 1
		_, open = s.pending()
	}
	st := s.step(e.Step)
	switch {
	case open != nil && (open != st || open.Phase == phaseOpen):
		return fmt.Sprintf("step %s is requested while attempt %d of step %d.%d is open", e.Step, open.Attempt, e.Step.Turn, open.Number)
	case st == nil && e.Step.Step != number || number > maxNumber:
		return fmt.Sprintf("step %s is requested where step %d.%d should be", e.Step, e.Step.Turn, number)
	case e.Attempt < 1 || e.Attempt > maxNumber:
		return fmt.Sprintf("step %s is requested as attempt %d", e.Step, e.Attempt)
	case st != nil && (e.Attempt <= st.Attempt || e.Purpose != st.Purpose || !st.mayGoOn()):
		return fmt.Sprintf("step %s is requested as attempt %d for %.20q, and was at attempt %d for %s",
			e.Step, e.Attempt, e.Purpose, st.Attempt, st.Purpose)
	case e.Purpose == events.PurposeSummary && e.Until == nil:
		return fmt.Sprintf("step %s is requested to sum up nothing", e.Step)
	case e.Call != nil && (e.Purpose != events.PurposeReview || e.Step.Turn == 0 || st == nil && s.call(*e.Call) == nil):
		return fmt.Sprintf("step %s is requested to review no call", e.Step)
	case !isPurpose(e.Purpose) || e.Step.Turn == 0 && e.Purpose == events.PurposeAnswer:
		return fmt.Sprintf("step %s is requested for %.20q", e.Step, e.Purpose)
	}
	return ""
}

// mayGoOn reports whether the step may have another attempt.
func (st *step) mayGoOn() bool {
	switch st.Phase {
	case phaseWaiting, phaseCrashed, phaseFailed, phaseTooLarge:
		return true
	case phaseOpen, phaseInterrupted, phaseCompleted, phaseDone:
	}
	return false
}

func (s State) misfitAttempt(step events.StepID, attempt int) string {
	if !s.AttemptOpen(step, attempt) {
		return fmt.Sprintf("attempt %d of step %s is not open", attempt, step)
	}
	return ""
}

// misnumbered says which call of an answer has not the number that its place is.
func misnumbered(parts []events.Part) string {
	n := 0
	for _, p := range parts {
		if p.Type != events.PartCall {
			continue
		}
		if n++; p.Ordinal != n {
			return fmt.Sprintf("call %d of an answer has the number %d", n, p.Ordinal)
		}
	}
	return ""
}

func (s State) misfitCall(id events.CallID) string {
	if c := s.call(id); c == nil || !c.open() {
		return fmt.Sprintf("call %s is not open", id)
	}
	return ""
}

// undone says what a commit with an answer leaves behind that nobody can do: a
// call with arguments that are none, or of a tool that no runner has and that has
// not begun. Who decides settles it in the same commit.
func (s State) undone() string {
	t, st := s.lastStep()
	if st == nil {
		return ""
	}
	settings := s.effective(t)
	for i := range st.Calls {
		c := &st.Calls[i]
		if c.open() && !c.runnable() {
			return fmt.Sprintf("call %s is open, and its arguments are no object", t.callID(st, c))
		}
		if tool, ok := findTool(settings, c.Tool); ok && c.open() && tool.Group == "" && !tool.Client && c.Question == nil && !isDelegate(tool) {
			return fmt.Sprintf("call %s is open, and nobody has it", t.callID(st, c))
		}
	}
	return ""
}

// runnable reports whether a runner could be given the call.
func (c *call) runnable() bool {
	return c.Blob != "" || events.IsObject(normalArguments(c.Arguments))
}
