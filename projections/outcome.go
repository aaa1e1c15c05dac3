package projections

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// outcome keeps what the commit decided about the command that caused it. The
// first decision stands.
func (f *fold) outcome(c events.Commit) {
	if c.Cause.Kind != events.CausedByCommand {
		return
	}
	if _, known := f.outcomes[c.Cause.ID]; known {
		return
	}
	f.outcomes[c.Cause.ID] = replyOf(c, f.head.Turn)
}

// replyOf is the reply that a command's commit stands for, behind which newest is
// the turn started last.
func replyOf(c events.Commit, newest int) protocol.Reply {
	r, left := protocol.Reply{ID: c.Cause.ID, OK: true, Rev: c.Rev}, false
	for _, e := range c.Events {
		switch e := e.(type) {
		case events.CommandRejected:
			r.OK, r.Code, r.Message, r.Status = false, e.Code, e.Message, e.Status
		case events.CommandNoted:
			r.Turn = e.Turn
		case events.InputAccepted:
			r.Input = e.Input
		case events.TurnStarted:
			if r.Input == "" || slices.Contains(e.Inputs, r.Input) {
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
			if r.Input == "" && !left { // else it makes room for the turn that takes the input
				r.Turn = e.Turn
			}
		case events.QuestionHeld:
			r.Turn = e.Call.Turn
		case events.QuestionAnswered:
		case events.ApprovalResolved:
			r.Turn = e.Call.Turn
		case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
			events.InputEdited, events.InputPromoted, events.InputWithdrawn, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
			events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted,
			events.ToolRequested, events.ToolStarted, events.ToolCompleted, events.QuestionAsked, events.ApprovalRequested, events.ModeSet,
			events.ChatEraseRequested, events.ChatErased, events.ContentDeleted, events.ActionRequested:
		}
	}
	return r
}
