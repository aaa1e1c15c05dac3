package protocol

import (
	"slices"

	"github.com/everturn/everturn/events"
)

// ReplyOf is the outcome of the command that caused c, behind which newest is the
// turn that was started last. Whoever folds a log takes it from here, so that a
// command has one outcome, whoever is asked.
//
// The turn that an input stops is not the one it is answered with: that one takes it.
func ReplyOf(c events.Commit, newest int) Reply {
	r, left := Reply{ID: c.Cause.ID, OK: true, Rev: c.Rev}, false
	verb := Verb(c.Cause.Verb)
	for _, e := range c.Events {
		switch e := e.(type) {
		case events.CommandRejected:
			r.OK, r.Code, r.Message, r.Status = false, e.Code, e.Message, e.Status
		case events.CommandNoted:
			r.Turn = e.Turn
		case events.InputAccepted:
			r.Input = e.Input
		case events.TurnStarted:
			if r.Input == "" && !namesTurn(verb) || slices.Contains(e.Inputs, r.Input) {
				r.Turn = e.Turn
			}
		case events.InputSteered:
			if slices.Contains(e.Inputs, r.Input) {
				r.Turn = e.Step.Turn
			}
		case events.BranchSelected:
			left = true
			if r.Input == "" { // else it is answered with the turn that takes it
				r.Turn = selected(e, newest)
			}
		case events.TurnInterruptRequested:
			if r.Input == "" && !left { // else it makes room for another one
				r.Turn = e.Turn
			}
		case events.ApprovalResolved:
			if verb == VerbApprove { // else it is settled because of what the command does
				r.Turn = e.Call.Turn
			}
		case events.BudgetExtended:
			r.Turn = e.Turn
		case events.QuestionHeld:
			r.Turn = e.Call.Turn
		case events.QuestionAnswered:
			if verb == VerbAnswer {
				r.Turn = e.Call.Turn
			}
		case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
			events.ChatEraseRequested, events.ChatErased, events.ContentDeleted,
			events.InputEdited, events.InputPromoted, events.InputWithdrawn, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
			events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted,
			events.ToolRequested, events.ToolStarted, events.ToolCompleted, events.QuestionAsked, events.ApprovalRequested, events.ModeSet,
			events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.ChatSpawned, events.ChildSpawned, events.ChildEnded,
			events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
		}
	}
	return r
}

// namesTurn reports whether such a command says itself which turn it concerns. If
// another one ends with it, what waits begins a turn that is none of its.
func namesTurn(v Verb) bool { return v == VerbApprove || v == VerbAnswer || v == VerbSelectBranch }

// selected is the turn that a choice is answered with: for the input of an edit
// none, before a turn has taken it; else the one that is due next.
func selected(e events.BranchSelected, newest int) int {
	switch {
	case e.Input != "":
		return 0
	case e.Again != 0:
		return newest + 1
	}
	return e.Turn
}
