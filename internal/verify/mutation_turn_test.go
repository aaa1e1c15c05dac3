package verify_test

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
)

// turnMutations are those of I3, I4 and I12.
func turnMutations() []mutation {
	return []mutation{
		{verify.RuleTurns, "dropped: a turn's end", nil, func(l log) log { return l.drop(nth[events.TurnCompleted](l, 1)) }},
		{verify.RuleTurns, "dropped: the last turn's end", nil, func(l log) log { return l.drop(nth[events.TurnInterrupted](l, 2)) }},
		{verify.RuleTurns, "repeated: a turn's end", nil, func(l log) log { return l.repeat(nth[events.TurnFailed](l, 1)) }},
		{verify.RuleTurns, "swapped: a turn's end and the next one's start", nil, func(l log) log {
			return l.swap(nth[events.TurnCompleted](l, 1), nth[events.TurnStarted](l, 2))
		}},
		{verify.RuleTurns, "changed: a turn's number", nil, func(l log) log {
			return change(l, 3, func(e *events.TurnStarted) { e.Turn = 7 })
		}},
		{verify.RuleTurns, "changed: a turn's parent to one that is not there", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Parent = 4 })
		}},
		{verify.RuleTurns, "moved: a turn's end past the next one's start", nil, func(l log) log {
			return l.move(nth[events.TurnFailed](l, 1), nth[events.TurnStarted](l, 4))
		}},

		{verify.RuleBelonging, "dropped: a turn's start", nil, func(l log) log { return l.drop(nth[events.TurnStarted](l, 4)) }},
		{verify.RuleBelonging, "repeated: a result after its turn's end", nil, func(l log) log {
			return l.insert(nth[events.TurnCompleted](l, 1), l.at(nth[events.ToolCompleted](l, 4)))
		}},
		{verify.RuleBelonging, "swapped: an answer and its turn's end", nil, func(l log) log {
			return l.swap(nth[events.StepCompleted](l, 2), nth[events.TurnCompleted](l, 1))
		}},
		{verify.RuleBelonging, "changed: the turn of a step", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Step.Turn = 2 })
		}},
		{verify.RuleBelonging, "moved: a step's request to before its turn", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 1), nth[events.InputAccepted](l, 1))
		}},

		{verify.RuleInterrupts, "dropped: the request to interrupt", nil, func(l log) log {
			return l.drop(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "repeated: the request to interrupt", nil, func(l log) log {
			return l.repeat(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "swapped: the request and the end of the interrupted step", nil, func(l log) log {
			return l.swap(nth[events.TurnInterruptRequested](l, 2), nth[events.StepInterrupted](l, 1))
		}},
		{verify.RuleInterrupts, "changed: a result to cancelled, and nobody interrupts", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
		{verify.RuleInterrupts, "moved: a call's start past the request", nil, func(l log) log {
			return l.move(nth[events.ToolStarted](l, 4), nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "moved: a step's request past the request to interrupt", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 8), nth[events.TurnInterruptRequested](l, 2))
		}},
		{verify.RuleInterrupts, "dropped: the end of a call that was not handed out", interruptStory, func(l log) log {
			return l.drop(nth[events.ToolCompleted](l, 1))
		}},
		{verify.RuleInterrupts, "dropped: the end of a turn in which nothing is open", nil, func(l log) log { return l.drop(nth[events.TurnInterrupted](l, 2)) }},
		{verify.RuleInterrupts, "changed: what a runner says to cancelled, and nobody interrupts", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolCancelled, true })
		}},
		{verify.RuleInterrupts, "changed: the timer that ends a turn", nil, func(l log) log {
			l[nth[events.TurnInterrupted](l, 1).commit].Cause.ID = "end-1"
			return l
		}},
		{verify.RuleInterrupts, "changed: a call that was handed out is cancelled with the request", interruptStory, func(l log) log {
			e := l.at(nth[events.ToolCompleted](l, 2)).(events.ToolCompleted)
			return l.insert(nth[events.ToolCompleted](l, 1), e)
		}},
		{verify.RuleInterrupts, "repeated: what is open, more often than may be", nil, func(l log) log {
			s := nth[events.TurnInterruptRequested](l, 1)
			for range 9 {
				l = l.insert(s, l.at(nth[events.ToolStarted](l, 4)))
			}
			return l
		}},
	}
}
