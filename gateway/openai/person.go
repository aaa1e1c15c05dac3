package openai

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/everturn/everturn/events"
)

// noticeHead begins a notice, and noticeFoot ends it: by them it is known again when
// the client sends the answer back as something that was said.
const (
	noticeHead = "[Everturn: "
	noticeFoot = "]"
)

// person notes what waits for somebody, and what does not any more.
func (f *follower) person(e events.Event) {
	switch e := e.(type) {
	case events.ApprovalRequested:
		f.waits[e.Call] = true
	case events.ApprovalResolved:
		delete(f.waits, e.Call)
	case events.QuestionAsked:
		f.waits[e.Call] = true
	case events.QuestionAnswered:
		delete(f.waits, e.Call)
	case events.ToolCompleted:
		delete(f.waits, e.Call)
	case events.BudgetReached:
		f.exhausted = f.exhausted || e.Turn == f.turn
	case events.BudgetExtended:
		f.exhausted = false
	case events.ActionRequested, events.AgentNamed, events.SkillActivated, events.BranchSelected, events.ChatArchived, events.ChatConfigured,
		events.ChatCreated, events.ChatEraseRequested, events.ChatErased, events.ChatInherited, events.ChatSpawned, events.ChatTitled,
		events.ChatUnarchived, events.ChildEnded, events.ChildSpawned, events.CommandNoted, events.CommandRejected,
		events.ContentDeleted, events.ContextCleared, events.ContextCompacted, events.ContextCompactionFailed, events.ContextRestored,
		events.InputAccepted, events.InputEdited, events.InputPromoted, events.InputSteered, events.InputWithdrawn, events.ModeSet,
		events.QuestionHeld, events.StepCompleted, events.StepFailed, events.StepInterrupted, events.StepRequested,
		events.ToolRequested, events.ToolStarted, events.TurnCompleted, events.TurnFailed, events.TurnInterruptRequested,
		events.TurnInterrupted, events.TurnStarted:
		// Nobody is waited for because of it.
	}
}

// stuck reports whether nothing goes on in the turn until a person does something.
func (f *follower) stuck() bool {
	if f.exhausted {
		return true
	}
	waiting := 0
	for call := range f.waits {
		if call.Turn == f.turn {
			waiting++
		}
	}
	return waiting > 0 && waiting >= len(f.calls)
}

// notice tells the client, once, what is waited for.
func (f *follower) notice() error {
	if f.noticed {
		return nil
	}
	f.noticed = true
	what := "the budget of the turn is used up"
	if !f.exhausted {
		var names []string
		for _, call := range slices.SortedFunc(maps.Keys(f.waits), events.CallID.Compare) {
			names = append(names, fmt.Sprintf("%s (%s)", f.calls[call].Function.Name, call))
		}
		what = "a person is waited for: " + strings.Join(names, ", ")
	}
	return f.say(true, fmt.Sprintf("%s%s; chat %s%s", noticeHead, what, f.chat, noticeFoot))
}

// withoutNotices is an answer without what only this API has put there.
func withoutNotices(s string) string {
	for {
		before, rest, found := strings.Cut(s, noticeHead)
		_, after, ended := strings.Cut(rest, noticeFoot)
		if !found || !ended {
			return s
		}
		s = before + after
	}
}
