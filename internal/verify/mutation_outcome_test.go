package verify_test

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// outcomeMutations are those of I14.
func outcomeMutations() []mutation {
	return []mutation{
		{verify.RuleOutcomes, "dropped: the inputs of a turn", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnStarted) { e.Inputs = nil })
		}},
		{verify.RuleOutcomes, "repeated: the last step after the final answer", nil, func(l log) log {
			last := l.at(nth[events.StepRequested](l, 4)).(events.StepRequested)
			last.Step.Step, last.Attempt = 3, 1
			return l.insert(nth[events.StepCompleted](l, 2), last)
		}},
		{verify.RuleOutcomes, "swapped: the ends of a completed and a failed turn", nil, func(l log) log {
			l = change(l, 2, func(e *events.TurnCompleted) { e.Turn = 3 })
			l = change(l, 1, func(e *events.TurnFailed) { e.Turn = 4 })
			return l.swap(nth[events.TurnCompleted](l, 2), nth[events.TurnFailed](l, 1))
		}},
		{verify.RuleOutcomes, "changed: the finish of a turn with a final answer", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Finish = events.FinishMaxSteps })
		}},
		{verify.RuleOutcomes, "changed: the finish of a turn without a final answer", lengthStory, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Finish = events.FinishComplete })
		}},
		{verify.RuleOutcomes, "changed: the steps that a turn took", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Totals.Steps++ })
		}},
		{verify.RuleOutcomes, "moved: the end of a turn to before its answer", nil, func(l log) log {
			return l.move(nth[events.TurnCompleted](l, 2), nth[events.StepRequested](l, 7))
		}},
		{verify.RuleOutcomes, "changed: the tokens that a turn took", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Totals.Usage.Input++ })
		}},
		{verify.RuleOutcomes, "changed: the tokens that a failed attempt took", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.Usage.Output = 7 })
		}},
		{verify.RuleOutcomes, "changed: why a turn failed", nil, func(l log) log {
			return change(l, 1, func(e *events.TurnFailed) { e.Class = events.ClassQuota })
		}},
		{verify.RuleOutcomes, "changed: a turn that failed to one that was refused by a filter", nil, func(l log) log {
			l = change(l, 3, func(e *events.StepFailed) { e.Class = events.ClassContentFilter })
			return change(l, 1, func(e *events.TurnFailed) { e.Class = events.ClassContentFilter })
		}},
		{verify.RuleOutcomes, "changed: a retry to going on", nil, func(l log) log {
			return change(l, 4, func(e *events.TurnStarted) { e.Cause = events.CauseContinue })
		}},
		{verify.RuleOutcomes, "changed: a tool to one that ends its turn", nil, func(l log) log {
			return tool(l, chatgen.ToolAppend, func(t *events.Tool) { t.StopAfter = true })
		}},
		{verify.RuleOutcomes, "changed: an answer before another step to one that was refused", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Stop = events.StopRefused })
		}},
	}
}
