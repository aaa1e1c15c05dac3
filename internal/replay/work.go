package replay

import (
	"strconv"
	"strings"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// attempts are what asking a model may have come to.
func (h *History) attempts(c events.Commit) ([]guess, bool) {
	step, attempt, ok := attemptOf(c.Cause.ID)
	if !ok {
		return nil, false
	}
	ended := chat.AttemptEnded{Step: step, Attempt: attempt}
	switch e := c.Events[0].(type) {
	case events.StepCompleted:
		return h.answers(c, e, ended), true
	case events.StepFailed:
		if e.Class == events.ClassCrashed {
			return []guess{{message: chat.AttemptLost{Step: step, Attempt: attempt}}}, true
		}
		return h.failures(c, e, ended), true
	case events.StepInterrupted:
		parts, stands := h.filled(c.Key, e.Parts, true)
		ended.Answer = &model.Answer{Parts: parts, Usage: e.Usage, CostMicros: e.CostMicros}
		return []guess{{message: ended, stands: stands}}, true
	case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputEdited, events.InputPromoted, events.InputSteered,
		events.InputWithdrawn, events.BranchSelected, events.TurnStarted,
		events.TurnInterruptRequested, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
		events.StepRequested, events.ToolRequested, events.ToolStarted, events.ToolCompleted,
		events.QuestionAsked, events.QuestionHeld, events.QuestionAnswered, events.ApprovalRequested, events.ApprovalResolved, events.ModeSet,
		events.ChatEraseRequested, events.ChatErased, events.ContentDeleted, events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.BudgetExtended, events.ChatSpawned, events.ChildSpawned, events.ChildEnded,
		events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
		// No attempt begins so.
	}
	return []guess{{message: chat.AttemptLost{Step: step, Attempt: attempt}}}, true
}

// attemptOf takes the id of an attempt apart, "3.2-1".
func attemptOf(id string) (step events.StepID, attempt int, ok bool) {
	name, number, _ := strings.Cut(id, "-")
	attempt, err := strconv.Atoi(number)
	return step, attempt, err == nil && step.UnmarshalText([]byte(name)) == nil
}

// maxToldCalls bounds how many calls are made up for an answer that had too many.
const maxToldCalls = 100_000

// failures are errors that may have ended the attempt so.
func (h *History) failures(c events.Commit, e events.StepFailed, ended chat.AttemptEnded) []guess {
	if e.Class == events.ClassTooManyCalls {
		if n, ok := firstNumber(e.Message); ok && n <= maxToldCalls {
			ended.Answer = &model.Answer{Usage: e.Usage, CostMicros: e.CostMicros}
			for range n {
				ended.Answer.Parts = append(ended.Answer.Parts, events.Part{Type: events.PartCall})
			}
			return []guess{{message: ended}}
		}
	}
	return h.retries(c, e, func(wish time.Duration) guess {
		m := ended
		m.Err = &model.Error{Class: e.Class, Message: e.Message, Usage: e.Usage, CostMicros: e.CostMicros, RetryAfter: wish}
		return guess{message: m}
	})
}

// claims are a runner's questions. The one that gives a call up is not in the
// log; it must have come with a later delivery than the last that was granted.
func (h *History) claims(c events.Commit) []guess {
	m := chat.Claim{Claim: protocol.Claim{V: protocol.Version, Claim: c.Cause.ID, Rev: h.state.Rev()}, Holder: chat.HolderSilent}
	switch e := c.Events[0].(type) {
	case events.ToolStarted:
		m.Call, m.Delivery, m.Runner, m.Holder = e.Call, e.Delivery, e.Runner, chat.HolderNotAsked
	case events.ToolCompleted:
		m.Call, m.Delivery = e.Call, h.known.starts[e.Call].Delivery+1
	case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
		events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputEdited, events.InputPromoted, events.InputSteered,
		events.InputWithdrawn, events.BranchSelected, events.TurnStarted,
		events.TurnInterruptRequested, events.TurnCompleted, events.TurnFailed, events.TurnInterrupted,
		events.StepRequested, events.StepCompleted, events.StepFailed, events.StepInterrupted, events.ToolRequested,
		events.QuestionAsked, events.QuestionHeld, events.QuestionAnswered, events.ApprovalRequested, events.ApprovalResolved, events.ModeSet,
		events.ChatEraseRequested, events.ChatErased, events.ContentDeleted, events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BudgetReached, events.BudgetExtended, events.ChatSpawned, events.ChildSpawned, events.ChildEnded,
		events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
		// Whatever it is, a claim does not bring it about.
	}
	return []guess{{message: m}}
}

// results are a runner's reports.
func results(c events.Commit) []guess {
	m := chat.Result{Result: protocol.Result{V: protocol.Version}}
	if e, ok := c.Events[0].(events.ToolCompleted); ok {
		m.Status, m.IsError, m.Parts, m.Truncated, m.Blob = e.Status, e.IsError, e.Parts, e.Truncated, e.Blob
		m.Runner, m.Timing = e.Runner, e.Timing
		for _, a := range e.Artifacts {
			m.Artifacts = append(m.Artifacts, protocol.Artifact{Title: a.Title, Type: a.Type, Digest: a.Digest, Bytes: a.Bytes})
		}
	}
	call, err := events.ParseCallID(c.Cause.ID, ".")
	if err != nil {
		return []guess{{message: m}} // of call 0.0.0, which nobody asked for
	}
	m.Call = call
	return []guess{{message: m}}
}

// timers are those that came due. An end timer brings what the feed still had of
// the open attempt.
func (h *History) timers(c events.Commit) ([]guess, bool) {
	name, err := protocol.ParseTimerName(c.Cause.ID)
	if err != nil {
		return nil, false
	}
	due, g := chat.TimerDue{Name: name}, guess{}
	if e, ok := c.Events[0].(events.StepInterrupted); ok {
		due.Partial, g.stands = h.filled(c.Key, e.Parts, true)
	}
	g.message = due
	return []guess{g}, true
}
