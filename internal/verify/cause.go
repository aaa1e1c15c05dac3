package verify

import (
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// caused judges that a commit's events can follow from what it answers. A
// message makes its own facts true first; all else in the commit follows from
// the state by itself.
func (h *history) caused(c events.Commit) {
	first := c.Events[0]
	rule, can := h.brings(first)
	if !can {
		h.breaks(rule, Place{}, "%s cannot follow from %s", first.EventType(), describeCause(c.Cause))
	}
	for _, e := range c.Events[1:] {
		if rule, onlyFirst := leads(e); onlyFirst && !h.closing && !brought(first, e) && !stops(first, e) && !h.goesWithBranch(e) && !h.endsReview(c, e) && !h.outOfBudget(c, e) {
			h.breaks(rule, Place{}, "%s is not what its commit begins with", e.EventType())
			return
		}
	}
}

// stops reports whether e is the end of a turn that is asked for together with what
// its commit begins with: a denial.
func stops(first, e events.Event) bool {
	denial, denied := first.(events.ApprovalResolved)
	_, asks := e.(events.TurnInterruptRequested)
	return asks && denied && denial.Decision == events.ApprovalDenied && denial.By == events.ResolvedByUser
}

func describeCause(c events.Cause) string {
	if c.Kind == events.CausedByCommand {
		return fmt.Sprintf("command %s, %s", c.ID, c.Verb)
	}
	return fmt.Sprintf("%s %s", c.Kind, c.ID)
}

// brings reports whether the commit's cause can make e true, and which rule says so.
func (h *history) brings(e events.Event) (Rule, bool) {
	switch h.cause.Kind {
	case events.CausedByCommand:
		return RuleCommands, commandBrings(protocol.Verb(h.cause.Verb), e)
	case events.CausedByAttempt:
		step, attempt, ok := closes(e)
		return RuleAttempts, ok && h.cause.ID == fmt.Sprintf("%s-%d", step, attempt)
	case events.CausedByClaim:
		switch e := e.(type) {
		case events.ToolStarted:
			return RuleLicence, h.cause.ID == e.Claim
		case events.ToolCompleted:
			return RuleLicence, true // which claim may do it is judged with the result
		default:
			return RuleLicence, false
		}
	case events.CausedByResult:
		e, ok := e.(events.ToolCompleted)
		return RuleResults, ok && h.cause.ID == e.Call.String()
	case events.CausedByAsk:
		e, ok := e.(events.QuestionAsked)
		return RuleLicence, ok && h.cause.ID == e.Call.String()
	case events.CausedByTimer:
		return h.timerBrings(e)
	case events.CausedByChat:
		return RuleChildren, h.chatBrings(e)
	case events.CausedByRestore:
		return RuleInterrupts, restoreBrings(e)
	}
	return RuleCommands, false
}

// timerBrings reports whether the timer that caused the commit can make e true.
func (h *history) timerBrings(e events.Event) (Rule, bool) {
	name, err := protocol.ParseTimerName(h.cause.ID)
	if err != nil {
		return RuleAttempts, false
	}
	switch name.Kind {
	case protocol.TimerBudget:
		e, ok := e.(events.BudgetReached)
		return RuleOutcomes, ok && e.Turn == name.Turn && e.Bound == events.BoundTime
	case protocol.TimerRetry:
		if _, held := e.(events.BudgetReached); held {
			return RuleAttempts, true
		}
		if failed, held := e.(events.ContextCompactionFailed); held { // of a chat that has nothing left to spend
			return RuleAttempts, failed.Step == name.Step && name.Step.Turn == 0 && h.nothingLeft()
		}
		e, ok := e.(events.StepRequested)
		return RuleAttempts, ok && e.Step == name.Step && e.Attempt == name.Attempt+1
	case protocol.TimerDeadline:
		call, ok := settles(e)
		return RuleResults, ok && call == name.Call
	case protocol.TimerAction:
		e, ok := e.(events.ToolCompleted)
		return RuleResults, ok && e.Call.StepID() == name.Step && e.Status == events.ToolTimeout
	case protocol.TimerQuestion:
		e, ok := e.(events.QuestionAnswered)
		return RuleResults, ok && e.Call == name.Call && e.Expired // which of its timers is judged with the answer
	case protocol.TimerApproval:
		e, ok := e.(events.ApprovalResolved)
		return RuleApprovals, ok && e.Call == name.Call
	case protocol.TimerReview:
		e, ok := e.(events.StepFailed)
		return RuleApprovals, ok && e.Step == name.Step && e.Class == events.ClassTimeout
	case protocol.TimerEnd:
		switch e := e.(type) {
		case events.StepInterrupted:
			return RuleInterrupts, e.Step.Turn == name.Turn
		default:
			call, ok := settles(e)
			return RuleInterrupts, ok && call.Turn == name.Turn
		}
	case protocol.TimerErase:
		_, ok := e.(events.ChatErased)
		return RuleChain, ok
	case protocol.TimerDelete:
		_, ok := e.(events.ContentDeleted)
		return RuleChain, ok
	}
	return RuleAttempts, false
}

// commandBrings reports whether a command of that verb can make e true. What a
// verb of a newer release does is not known here.
func commandBrings(v protocol.Verb, e events.Event) bool {
	switch e := e.(type) {
	case events.CommandRejected, events.CommandNoted:
		return true
	case events.InputWithdrawn:
		if v == protocol.VerbRegenerate || v == protocol.VerbSelectBranch || v == protocol.VerbInterrupt {
			return true // it was on its way to another branch
		}
	case events.BranchSelected:
		if v == protocol.VerbInterrupt {
			return true // what was due does not begin
		}
	case events.TurnStarted:
		if v == protocol.VerbRetry || v == protocol.VerbContinue {
			return string(e.Cause) == string(v)
		}
	case events.QuestionHeld:
		return v == protocol.VerbAnswer
	case events.StepRequested:
		if v == protocol.VerbCompact {
			return e.Purpose == events.PurposeSummary && e.Step.Turn == 0
		}
	case events.StepInterrupted:
		if v == protocol.VerbInterrupt || v == protocol.VerbCompact { // the one makes room for the other
			return e.Step.Turn == 0
		}
	case events.ContextCompactionFailed:
		if v == protocol.VerbInterrupt {
			return e.Step.Turn == 0
		}
	default:
		// By its name alone.
	}
	brings := map[protocol.Verb]events.Event{
		protocol.VerbCreate: events.ChatCreated{}, protocol.VerbSend: events.InputAccepted{},
		protocol.VerbInterrupt: events.TurnInterruptRequested{}, protocol.VerbConfigure: events.ChatConfigured{},
		protocol.VerbRename: events.ChatTitled{}, protocol.VerbArchive: events.ChatArchived{},
		protocol.VerbUnarchive: events.ChatUnarchived{}, protocol.VerbWithdraw: events.InputWithdrawn{},
		protocol.VerbPromote: events.InputPromoted{}, protocol.VerbEditInput: events.InputEdited{},
		protocol.VerbRetry: events.TurnStarted{}, protocol.VerbContinue: events.TurnStarted{},
		protocol.VerbApprove: events.ApprovalResolved{}, protocol.VerbSetMode: events.ModeSet{},
		protocol.VerbFork: events.ChatInherited{}, protocol.VerbImport: events.ChatInherited{},
		protocol.VerbEdit: events.InputAccepted{}, protocol.VerbRegenerate: events.BranchSelected{},
		protocol.VerbSelectBranch: events.BranchSelected{},
		protocol.VerbAnswer:       events.QuestionAnswered{},
		protocol.VerbErase:        events.ChatEraseRequested{},
		protocol.VerbClientResult: events.ToolCompleted{},
		protocol.VerbCompact:      events.StepRequested{}, protocol.VerbClear: events.ContextCleared{},
		protocol.VerbRestore: events.ContextRestored{},
		protocol.VerbExtend:  events.BudgetExtended{},
	}
	want, known := brings[v]
	return !known || want.EventType() == e.EventType()
}

// leads reports whether e can only be what a message itself made true, which is
// first in its commit, and which rule says so.
func leads(e events.Event) (Rule, bool) {
	switch e := e.(type) {
	case events.ApprovalResolved:
		return RuleApprovals, e.By == events.ResolvedByUser || e.By == events.ResolvedByDeadline
	case events.ModeSet, events.BudgetExtended:
		return RuleCommands, true
	case events.ChatTitled:
		return RuleCommands, e.Step == nil // else it follows what a model proposed
	case events.ChatConfigured, events.ChatArchived, events.InputAccepted, events.InputEdited, events.InputPromoted,
		events.InputWithdrawn, events.BranchSelected, events.TurnInterruptRequested,
		events.ContextCleared, events.ContextRestored:
		return RuleCommands, true
	case events.StepCompleted, events.StepFailed, events.StepInterrupted:
		return RuleAttempts, true
	case events.ToolStarted:
		return RuleLicence, true
	case events.QuestionHeld, events.QuestionAnswered:
		return RuleResults, true
	case events.ChatEraseRequested, events.ChatErased, events.ContentDeleted:
		return RuleChain, true
	case events.ChildEnded:
		return RuleChildren, e.Outcome != events.ChildUnknown
	case events.ChatCreated, events.ChatInherited, events.ChatSpawned, events.CommandRejected, events.CommandNoted: // judged as what they are
	case events.ChatUnarchived: // an input brings a chat back
	case events.InputSteered, events.TurnStarted, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
		events.StepRequested, events.ToolRequested, events.ToolCompleted, events.ApprovalRequested, events.QuestionAsked,
		events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.ChildSpawned,
		events.ContextCompacted, events.ContextCompactionFailed: // they follow
	}
	return "", false
}

// brought reports whether e is what an input brings along: its place before
// others, and the end of the turn that runs.
func brought(first, e events.Event) bool {
	switch in := first.(type) {
	case events.ChatEraseRequested:
		return erasureBrings(e)
	case events.ChatSpawned:
		return birthBrings(e)
	case events.InputAccepted:
		if e, ok := e.(events.InputPromoted); ok {
			return e.Input == in.Input && (stopsTurns(in.Mode) || in.Mode == events.ModeSteer && !e.Interrupt)
		}
		if !stopsTurns(in.Mode) {
			return false
		}
	case events.InputPromoted:
		if !in.Interrupt {
			return false
		}
	default:
		return false
	}
	_, ok := e.(events.TurnInterruptRequested)
	return ok
}

// settles is the call that an event settles, or whose child it ends before that.
func settles(e events.Event) (events.CallID, bool) {
	switch e := e.(type) {
	case events.ToolCompleted:
		return e.Call, true
	case events.ChildEnded:
		return e.Call, true
	default:
		return events.CallID{}, false
	}
}

// closes is the attempt that an event closes, if it does.
func closes(e events.Event) (step events.StepID, attempt int, ok bool) {
	switch e := e.(type) {
	case events.StepCompleted:
		return e.Step, e.Attempt, true
	case events.StepFailed:
		return e.Step, e.Attempt, true
	case events.StepInterrupted:
		return e.Step, e.Attempt, true
	default:
		return events.StepID{}, 0, false
	}
}
