package replay

import (
	"slices"
	"sort"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// maxDecisionTime is how long after its decision a commit may have been dated, by
// releases that looked at the clock twice.
const maxDecisionTime = time.Second

// times are when the commit may have been decided: when it was written, or a
// little earlier, if something in it says so. A claim is decided by the clock of
// whoever has it: where that is behind the one of the commit before, it has left
// no trace but in the licence.
func (h *History) times(c events.Commit, g guess) []events.Time {
	list, before := append([]events.Time{c.At}, g.at...), maxDecisionTime
	if claim, ok := g.message.(chat.Claim); ok && c.At == h.state.At() {
		before = c.At.Sub(0)
		if start, ok := h.known.starts[claim.Call]; ok {
			list = append(list, min(c.At, start.At.Add(events.Dead)), min(c.At, start.At))
		}
	}
	for _, e := range c.Events {
		at := c.At
		switch e := e.(type) {
		case events.TurnStarted:
			at = e.At
		case events.BudgetReached:
			at = e.At
		case events.BudgetExtended:
			at = e.At
		case events.TurnInterruptRequested:
			at = e.Due.Add(-events.EndDelay)
		case events.ToolRequested:
			at = e.Deadline.Add(-time.Duration(e.TimeoutMS)*time.Millisecond - events.Dead)
		case events.ToolStarted:
			at = e.At
		case events.StepRequested:
			if e.Due != 0 {
				at = e.Due.Add(-chat.ReviewTime)
			}
		case events.ActionRequested:
			at = e.Due.Add(-events.ActionTimeout)
		case events.QuestionAsked:
			at = e.Due.Add(-time.Duration(e.TimeoutMS) * time.Millisecond)
		case events.QuestionHeld:
			at = e.Due.Add(-events.MaxHold)
			if !e.Held {
				at = e.Due.Add(-time.Duration(e.LeftMS) * time.Millisecond)
			}
		case events.ChatEraseRequested:
			at = e.Due
		case events.ChildSpawned:
			at = e.Due.Add(-events.ChildTime)
		case events.ChatErased:
			at = e.Due.Add(-events.EraseDelay)
		case events.ChatCreated, events.ChatInherited, events.ChatConfigured, events.ChatTitled, events.ChatArchived, events.ChatUnarchived,
			events.CommandRejected, events.CommandNoted, events.InputAccepted, events.InputEdited,
			events.InputPromoted, events.InputSteered, events.InputWithdrawn, events.BranchSelected,
			events.TurnCompleted, events.TurnFailed, events.TurnInterrupted, events.StepCompleted,
			events.StepFailed, events.StepInterrupted, events.ToolCompleted, events.QuestionAnswered, events.ApprovalRequested, events.ApprovalResolved, events.ModeSet, events.AgentNamed, events.SkillActivated, events.ContentDeleted,
			events.ChatSpawned, events.ChildEnded,
			events.ContextCompacted, events.ContextCompactionFailed, events.ContextCleared, events.ContextRestored:
			// It says nothing of when it was decided.
		}
		if at < c.At && c.At.Sub(at) <= before && !slices.Contains(list, at) {
			list = append(list, at)
		}
	}
	return list
}

// retries are errors after which the next attempt may be due when the log says. A
// wait that is longer than ours is a provider's wish, which the log does not have.
func (h *History) retries(c events.Commit, e events.StepFailed, failed func(time.Duration) guess) []guess {
	due := func(wish time.Duration) events.Time {
		for _, decided := range h.options.Rules.Decide(h.state, failed(wish).message, c.At, chat.Live{}).Events {
			if decided, ok := decided.(events.StepFailed); ok {
				return decided.RetryAt
			}
		}
		return 0
	}
	const least = time.Nanosecond
	unasked := failed(0)
	switch base := due(0); {
	case e.RetryAt == 0, base == 0:
	case e.RetryAt < base:
		unasked.at = earlier(c.At, base.Sub(e.RetryAt))
	case e.RetryAt > base:
		if first := due(least); e.RetryAt < first {
			asked := failed(least)
			asked.at = earlier(c.At, first.Sub(e.RetryAt))
			return []guess{unasked, asked}
		}
		wish := least + time.Duration(sort.Search(int(events.MaxRetryFor-least), func(n int) bool {
			return due(least+time.Duration(n)) >= e.RetryAt
		}))
		return []guess{unasked, failed(wish)}
	}
	return []guess{unasked}
}

// earlier is the time of a decision that was made so much before its commit, if
// that can be.
func earlier(at events.Time, by time.Duration) []events.Time {
	if by > maxDecisionTime {
		return nil
	}
	return []events.Time{at.Add(-by)}
}
