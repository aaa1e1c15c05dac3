package verify_test

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
)

// stepMutations are those of I5, I6 and I16.
func stepMutations() []mutation {
	return []mutation{
		{verify.RuleAttempts, "dropped: the failure before a retry", nil, func(l log) log { return l.drop(nth[events.StepFailed](l, 1)) }},
		{verify.RuleAttempts, "repeated: an answer", nil, func(l log) log { return l.repeat(nth[events.StepCompleted](l, 1)) }},
		{verify.RuleAttempts, "swapped: a crash and the attempt after it", nil, func(l log) log {
			return l.swap(nth[events.StepFailed](l, 2), nth[events.StepRequested](l, 4))
		}},
		{verify.RuleAttempts, "changed: the attempt that an answer closes", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Attempt = 1 })
		}},
		{verify.RuleAttempts, "changed: the number of an attempt", nil, func(l log) log {
			return change(l, 3, func(e *events.StepRequested) { e.Attempt = 3 })
		}},
		{verify.RuleAttempts, "changed: a failure that is retried to one that cannot be", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.Class = events.ClassQuota })
		}},
		{verify.RuleAttempts, "changed: the timer that began a retry", nil, func(l log) log {
			l[nth[events.StepRequested](l, 3).commit].Cause.ID = "retry-1-2-2"
			return l
		}},
		{verify.RuleAttempts, "moved: an answer past its turn's end", nil, func(l log) log {
			return l.move(nth[events.StepCompleted](l, 2), nth[events.TurnCompleted](l, 1))
		}},

		{verify.RuleAttempts, "changed: the attempt that a commit answers", nil, func(l log) log {
			l[nth[events.StepCompleted](l, 1).commit].Cause.ID = "1.1-7"
			return l
		}},
		{verify.RuleAttempts, "moved: a failure into the commit of an answer", nil, func(l log) log {
			return l.move(nth[events.StepFailed](l, 2), nth[events.StepCompleted](l, 2))
		}},

		{verify.RuleSteps, "dropped: the step after the last result", nil, func(l log) log { return l.drop(nth[events.StepRequested](l, 2)) }},
		{verify.RuleSteps, "dropped: the handing out of a call that may run", wavesStory, func(l log) log { return l.drop(nth[events.ToolRequested](l, 2)) }},
		{verify.RuleSteps, "changed: the model that a step asks", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Model = "large" })
		}},
		{verify.RuleSteps, "changed: what a step is for", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Purpose = "pleasure" })
		}},
		{verify.RuleAttempts, "repeated: a step that has ended", nil, func(l log) log {
			again := l.at(nth[events.StepRequested](l, 1)).(events.StepRequested)
			again.Attempt = 2
			return l.insert(nth[events.StepCompleted](l, 1), again)
		}},
		{verify.RuleAttempts, "moved: the attempt after a crash to a later commit", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 4), spot{nth[events.StepRequested](l, 4).commit + 1, -1})
		}},
		{verify.RuleAttempts, "dropped: when a failure is to be tried again", nil, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = 0 })
		}},
		{verify.RuleAttempts, "dropped: everything after an attempt has begun", nil, func(l log) log {
			return l[:nth[events.StepRequested](l, 8).commit+1]
		}},
		{verify.RuleSteps, "changed: another attempt to another step", nil, func(l log) log {
			return change(l, 3, func(e *events.StepRequested) { e.Step.Step, e.Attempt = 3, 1 })
		}},
		{verify.RuleSteps, "dropped: the first step", nil, func(l log) log { return l.drop(nth[events.StepRequested](l, 1)) }},
		{verify.RuleSteps, "dropped: a result before the next step", nil, func(l log) log { return l.drop(nth[events.ToolCompleted](l, 4)) }},
		{verify.RuleSteps, "repeated: a step's request as the next step", nil, func(l log) log {
			again := l.at(nth[events.StepRequested](l, 2)).(events.StepRequested)
			again.Step.Step++
			return l.insert(nth[events.StepRequested](l, 2), again)
		}},
		{verify.RuleSteps, "swapped: a result and the next step's request", nil, func(l log) log {
			return l.swap(nth[events.ToolCompleted](l, 4), nth[events.StepRequested](l, 2))
		}},
		{verify.RuleSteps, "changed: the number of a step", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Step.Step = 3 })
		}},
		{verify.RuleSteps, "moved: a step's request to before the last answer", nil, func(l log) log {
			return l.move(nth[events.StepRequested](l, 2), nth[events.StepRequested](l, 1))
		}},

		{verify.RulePrompts, "dropped: a part of what the user said", nil, func(l log) log {
			return change(l, 1, func(e *events.InputAccepted) { e.Parts = nil })
		}},
		{verify.RulePrompts, "repeated: a part of an answer", nil, func(l log) log {
			return change(l, 2, func(e *events.StepCompleted) { e.Parts = append(e.Parts, e.Parts[0]) })
		}},
		{verify.RulePrompts, "swapped: what two users said", nil, func(l log) log {
			a, b := l.at(nth[events.InputAccepted](l, 2)).(events.InputAccepted), l.at(nth[events.InputAccepted](l, 3)).(events.InputAccepted)
			l = change(l, 2, func(e *events.InputAccepted) { e.Parts = b.Parts })
			return change(l, 3, func(e *events.InputAccepted) { e.Parts = a.Parts })
		}},
		{verify.RulePrompts, "changed: the digest of a prompt", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Prompt = events.DigestOf(nil) })
		}},
		{verify.RulePrompts, "changed: the size of a prompt", nil, func(l log) log {
			return change(l, 2, func(e *events.StepRequested) { e.Bytes++ })
		}},
		{verify.RulePrompts, "changed: whose thoughts a model is shown", otherStory, func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) { e.Parts[0].Model = "small" })
		}},
		{verify.RulePrompts, "changed: what a tool said, to what no model takes", nil, func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text("\x1b[31m")} })
		}},
		{verify.RulePrompts, "moved: what one call came to, to another", nil, func(l log) log {
			l = change(l, 2, func(e *events.ToolCompleted) { e.Parts = []events.Part{events.Text("moved")} })
			return change(l, 3, func(e *events.ToolCompleted) { e.Parts = nil })
		}},
	}
}
