package replay

import (
	"fmt"
	"strings"

	"github.com/everturn/everturn/events"
)

// subject is what an event is about: one of the fields is set, none if it is
// about the chat.
type subject struct {
	turn int
	step events.StepID
	call events.CallID
	said string // the same for people, and how it went
}

func about(e events.Event) subject {
	switch e := e.(type) {
	case events.ChatCreated, events.ChatConfigured, events.ChatArchived, events.ChatUnarchived,
		events.ChatEraseRequested, events.ChatErased, events.ContentDeleted:
	case events.ChatInherited:
		return subject{said: fmt.Sprintf("rev %d of %s.%s", e.Origin.Rev, e.Origin.Tenant, e.Origin.Chat)}
	case events.ChatTitled:
		if e.Step != nil {
			return subject{step: *e.Step, said: fmt.Sprintf("%s, proposed in step %s", e.Title, e.Step)}
		}
		return subject{said: e.Title}
	case events.CommandRejected:
		return subject{said: fmt.Sprintf("%s: %s: %s", e.Verb, e.Code, e.Message)}
	case events.CommandNoted:
		return subject{said: e.Verb + ": nothing to do"}
	case events.InputAccepted:
		return subject{said: "input " + e.Input}
	case events.InputEdited:
		return subject{said: "input " + e.Input}
	case events.InputPromoted:
		return subject{said: fmt.Sprintf("input %s, now number %d of those that wait", e.Input, e.Place)}
	case events.InputSteered:
		return subject{step: e.Step, said: fmt.Sprintf("before step %s: input %s", e.Step, strings.Join(e.Inputs, ", "))}
	case events.InputWithdrawn:
		return subject{said: "input " + e.Input}
	case events.BranchSelected:
		return subject{said: branch(e)}
	case events.TurnStarted:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d", e.Turn)}
	case events.TurnInterruptRequested:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d", e.Turn)}
	case events.TurnCompleted:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d: %s", e.Turn, e.Finish)}
	case events.TurnFailed:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d: %s", e.Turn, e.Class)}
	case events.TurnInterrupted:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d", e.Turn)}
	case events.StepRequested:
		said := fmt.Sprintf("step %s, attempt %d", e.Step, e.Attempt)
		if e.Purpose != events.PurposeAnswer {
			said += ": " + string(e.Purpose)
		}
		if e.Call != nil {
			said += " of call " + e.Call.String()
		}
		return subject{step: e.Step, said: said}
	case events.StepCompleted:
		return subject{step: e.Step, said: fmt.Sprintf("step %s, attempt %d: %s", e.Step, e.Attempt, e.Stop)}
	case events.StepFailed:
		return subject{step: e.Step, said: fmt.Sprintf("step %s, attempt %d: %s", e.Step, e.Attempt, e.Class)}
	case events.StepInterrupted:
		return subject{step: e.Step, said: fmt.Sprintf("step %s, attempt %d", e.Step, e.Attempt)}
	case events.ContextCompacted:
		if e.Step == nil {
			return subject{said: fmt.Sprintf("%d outputs of tools left out, up to %s, about %d tokens and then %d", len(e.Masked), events.StepID(e.Boundary), e.Before, e.After)}
		}
		return subject{step: *e.Step, said: fmt.Sprintf("up to %s, about %d tokens and then %d", events.StepID(e.Boundary), e.Before, e.After)}
	case events.ContextCompactionFailed:
		return subject{step: e.Step, said: fmt.Sprintf("step %s: %s: %s", e.Step, e.Class, e.Message)}
	case events.ContextCleared:
		return subject{said: "up to " + events.StepID(e.Boundary).String()}
	case events.ContextRestored:
		return subject{said: "from before " + events.StepID(e.Boundary).String()}
	case events.ToolRequested:
		return subject{call: e.Call, said: fmt.Sprintf("call %s of %s", e.Call, e.Tool)}
	case events.ToolStarted:
		return subject{call: e.Call, said: fmt.Sprintf("call %s by %s", e.Call, e.Runner)}
	case events.ToolCompleted:
		said := []string{fmt.Sprintf("call %s: %s", e.Call, e.Status)}
		for _, a := range e.Artifacts {
			said = append(said, fmt.Sprintf("version %d of %s", a.Version, a.Title))
		}
		return subject{call: e.Call, said: strings.Join(said, ", ")}
	case events.ActionRequested:
		return subject{step: e.Step, said: fmt.Sprintf("%d calls of step %s until %s", len(e.Calls), e.Step, e.Due)}
	case events.QuestionAsked:
		return subject{call: e.Call, said: fmt.Sprintf("call %s asks until %s", e.Call, e.Due)}
	case events.QuestionHeld:
		if e.Held {
			return subject{call: e.Call, said: fmt.Sprintf("call %s is held", e.Call)}
		}
		return subject{call: e.Call, said: fmt.Sprintf("call %s runs on until %s", e.Call, e.Due)}
	case events.QuestionAnswered:
		if e.Expired {
			return subject{call: e.Call, said: fmt.Sprintf("call %s: nobody answered", e.Call)}
		}
		return subject{call: e.Call, said: fmt.Sprintf("call %s", e.Call)}
	case events.ApprovalRequested:
		said := fmt.Sprintf("call %s of %s, until %s", e.Call, e.Tool, e.Due)
		if e.Review != nil {
			said += fmt.Sprintf(", reviewed in step %s: %s", e.Review.Step, e.Review.Reason)
		}
		return subject{call: e.Call, said: said}
	case events.ApprovalResolved:
		return subject{call: e.Call, said: decided(e)}
	case events.BudgetReached:
		return subject{turn: e.Turn, said: fmt.Sprintf("turn %d: %s of the %s: %s, of %s", e.Turn, e.Bound, e.Scope, spentOf(e.Spent), boundsOf(e.Budget))}
	case events.BudgetExtended:
		return subject{turn: e.Turn, said: fmt.Sprintf("of the %s: %s", e.Scope, boundsOf(e.Budget))}
	case events.ChatSpawned:
		return subject{said: fmt.Sprintf("for call %s of chat %s, at depth %d", e.Parent.Call, e.Parent.Chat, e.Depth)}
	case events.ChildSpawned:
		said := fmt.Sprintf("call %s, by chat %s, until %s", e.Call, e.Child, e.Due)
		if e.Granted.Limits() {
			said += ", for at most " + boundsOf(e.Granted)
		}
		return subject{call: e.Call, said: said}
	case events.ChildEnded:
		said := fmt.Sprintf("call %s, by chat %s: %s", e.Call, e.Child, e.Outcome)
		if e.Spent != (events.Spending{}) {
			said += ", " + spentOf(e.Spent)
		}
		return subject{call: e.Call, said: said}
	case events.AgentNamed:
		return subject{said: "agent " + e.Agent}
	case events.SkillActivated:
		return subject{step: e.Step, said: fmt.Sprintf("%s, %d bytes", e.Skill, e.Bytes)}
	case events.ModeSet:
		return subject{said: modeOf(e)}
	}
	return subject{}
}

// decided says what became of an approval, and through whom.
func decided(e events.ApprovalResolved) string {
	said := fmt.Sprintf("call %s: %s by %s", e.Call, e.Decision, e.By)
	if e.User != "" {
		said += " " + e.User
	}
	if len(e.Edited) > 0 {
		said += ", with other arguments"
	}
	if e.Scope == events.ScopeChat {
		said += ", for this chat"
	}
	if e.Reason != "" {
		said += ": " + e.Reason
	}
	return said
}

// modeOf says which modes were set.
func modeOf(e events.ModeSet) string {
	var said []string
	if e.Approval != "" {
		said = append(said, "approval "+string(e.Approval))
	}
	switch {
	case e.Plan == nil:
	case *e.Plan:
		said = append(said, "plan")
	default:
		said = append(said, "no plan")
	}
	return strings.Join(said, ", ")
}

// branch is what a choice of a branch says.
func branch(e events.BranchSelected) string {
	switch {
	case e.Again == 0:
		return fmt.Sprintf("turn %d", e.Turn)
	case e.Input == "":
		return fmt.Sprintf("turn %d, to answer turn %d again", e.Turn, e.Again)
	}
	return fmt.Sprintf("turn %d, to say something else than in turn %d", e.Turn, e.Again)
}

// About says in a few words what an event is about; empty for one that is about
// the whole chat.
func About(e events.Event) string { return about(e).said }
