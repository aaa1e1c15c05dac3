package verify_test

import (
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// orderMutations are those of I9 that are about the order of calls, and about
// steps in which a tool must be alone.
func orderMutations() []mutation {
	handOut := func(l log, ordinal int) log {
		step := nth[events.StepCompleted](l, 1)
		return l.insert(step, events.ToolRequested{Call: events.CallID{Turn: 1, Step: 1, Ordinal: ordinal}, Tool: chatgen.ToolAppend})
	}
	return []mutation{
		{verify.RuleLicence, "moved: a call that runs alone to beside others", wavesStory, func(l log) log {
			return l.move(nth[events.ToolRequested](l, 3), nth[events.ToolRequested](l, 2))
		}},
		{verify.RuleLicence, "moved: a call to beside one that runs alone", wavesStory, func(l log) log {
			return l.move(nth[events.ToolRequested](l, 4), nth[events.ToolRequested](l, 3))
		}},
		{verify.RuleLicence, "swapped: two calls that run one after the other", wavesStory, func(l log) log {
			return l.swap(nth[events.ToolRequested](l, 3), nth[events.ToolRequested](l, 4))
		}},
		{verify.RuleLicence, "changed: a tool to one that runs alone", wavesStory, func(l log) log {
			return tool(l, chatgen.ToolRead, func(t *events.Tool) { t.Parallel = false })
		}},
		{verify.RuleLicence, "changed: a tool to one that must be the only call", wavesStory, func(l log) log {
			return tool(l, chatgen.ToolAppend, func(t *events.Tool) { t.Exclusive = true })
		}},
		{verify.RuleLicence, "dropped: the result of a call that must not run", nil, func(l log) log {
			return l.drop(nth[events.ToolCompleted](l, 1))
		}},
		{verify.RuleLicence, "repeated: a call beside one that must be alone is handed out", aloneStory, func(l log) log { return handOut(l, 2) }},
		{verify.RuleLicence, "changed: a call that must be alone is called invalid", aloneStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolInvalid })
		}},
	}
}

// resultMutations are those of I9 that are about results.
func resultMutations() []mutation {
	return []mutation{
		{verify.RuleLicence, "changed: a call of a tool that is there is called not found", deadlineStory, func(l log) log {
			step := nth[events.StepCompleted](l, 1)
			e := l.at(nth[events.ToolCompleted](l, 1)).(events.ToolCompleted)
			e.Status = events.ToolNotFound
			return l.drop(nth[events.ToolRequested](l, 1)).insert(step, e)
		}},
		{verify.RuleLicence, "changed: the arguments do not fit their schema", nil, func(l log) log {
			l = change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Arguments = chatgen.ArgumentsWrong
			})
			return change(l, 1, func(e *events.ToolRequested) { e.Arguments = events.DigestOf([]byte(chatgen.ArgumentsWrong)) })
		}},
		{verify.RuleLicence, "changed: a call of no tool is called denied", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolDenied })
		}},
		{verify.RuleLicence, "changed: a call that was not run is said to be done", nil, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolOK, false })
		}},
		{verify.RuleLicence, "changed: what a runner says to denied", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolDenied, true })
		}},
		{verify.RuleLicence, "changed: a result that nobody sent names a runner", lostStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Runner = "r" })
		}},
		{verify.RuleLicence, "changed: a lost call is said to have failed", lostStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolError })
		}},
		{verify.RuleLicence, "changed: a call that may run again is given up as unknown", againStory, func(l log) log {
			s := nth[events.ToolCompleted](l, 1)
			l[s.commit].Cause = events.Cause{Kind: events.CausedByClaim, ID: "another"}
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError, e.Runner = events.ToolUnknown, true, "" })
		}},
		{verify.RuleLicence, "changed: a call that only reads is called unknown at its deadline", deadlineStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolUnknown })
		}},
		{verify.RuleLicence, "changed: the time of a start to near the deadline", nil, func(l log) log {
			due := l.at(nth[events.ToolRequested](l, 3)).(events.ToolRequested).Deadline
			return change(l, 3, func(e *events.ToolStarted) { e.At = due.Add(1 - events.Dead) })
		}},
		{verify.RuleLicence, "moved: the result of a call that must not run past its step", nil, func(l log) log {
			return l.move(nth[events.ToolCompleted](l, 1), nth[events.ToolStarted](l, 1))
		}},
	}
}
