package verify_test

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// callMutations are those of I7 and I8.
func callMutations() []mutation {
	return []mutation{
		{verify.RuleCalls, "dropped: a call in the middle of an answer", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Parts = slices.Delete(slices.Clone(e.Parts), 1, 2) })
		}},
		{verify.RuleCalls, "repeated: a call that was handed out", nil, func(l log) log { return l.repeat(nth[events.ToolRequested](l, 1)) }},
		{verify.RuleCalls, "swapped: the keys of two calls", nil, func(l log) log {
			a, b := l.at(nth[events.ToolRequested](l, 1)).(events.ToolRequested), l.at(nth[events.ToolRequested](l, 2)).(events.ToolRequested)
			l = change(l, 1, func(e *events.ToolRequested) { e.Key = b.Key })
			return change(l, 2, func(e *events.ToolRequested) { e.Key = a.Key })
		}},
		{verify.RuleCalls, "changed: the arguments of a call that is handed out", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Arguments = events.DigestOf([]byte(`{"n":2}`)) })
		}},
		{verify.RuleCalls, "changed: the tool of a call that is handed out", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolRequested) { e.Tool = chatgen.ToolPut })
		}},
		{verify.RuleCalls, "changed: a call's ordinal", nil, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[1].Ordinal = 1
			})
		}},
		{verify.RuleCalls, "moved: a call out of its answer", nil, func(l log) log {
			return l.move(nth[events.ToolRequested](l, 1), nth[events.StepRequested](l, 1))
		}},

		{verify.RuleCalls, "changed: what is kept of an interrupted step to a call", nil, func(l log) log {
			return change(l, 1, func(e *events.StepInterrupted) { e.Parts = []events.Part{chatgen.Call(chatgen.ToolRead, "")} })
		}},
		{verify.RuleResults, "dropped: a result", nil, func(l log) log { return l.drop(nth[events.ToolCompleted](l, 5)) }},
		{verify.RuleResults, "repeated: a result", nil, func(l log) log { return l.repeat(nth[events.ToolCompleted](l, 2)) }},
		{verify.RuleResults, "swapped: a result and its turn's end", nil, func(l log) log {
			return l.swap(nth[events.ToolCompleted](l, 5), nth[events.TurnInterrupted](l, 1))
		}},
		{verify.RuleResults, "changed: the call that a result answers", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Call.Ordinal = 9 })
		}},
		{verify.RuleResults, "moved: a result to before its call", nil, func(l log) log {
			return l.move(nth[events.ToolCompleted](l, 1), nth[events.StepRequested](l, 1))
		}},
		{verify.RuleResults, "changed: the call that a commit answers", nil, func(l log) log {
			l[nth[events.ToolCompleted](l, 2).commit].Cause.ID = "1.1.2"
			return l
		}},
		{verify.RuleResults, "changed: a failure that is not marked as one", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.IsError = false })
		}},
		{verify.RuleResults, "changed: the call whose deadline is over", deadlineStory, func(l log) log {
			l[nth[events.ToolCompleted](l, 1).commit].Cause.ID = "deadline-1-1-2"
			return l
		}},
	}
}
