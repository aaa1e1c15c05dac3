package verify_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// reviewStory is a turn whose calls a model judges: it approves one, leaves one to a
// person, fails, does not answer in time, and is interrupted. One call needs nobody.
func reviewStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Reviewer: "large"})
	c.Send("one")
	runs := func(id events.CallID) {
		c.Claim(id, 1)
		c.Result(id, events.ToolOK, "done")
	}
	reviewed := func(n string) events.Part { return chatgen.Call(chatgen.ToolReview, `{"n":`+n+`}`) }
	c.Answer(reviewed("1"), chatgen.Call(chatgen.ToolAppend, ""), reviewed("2"), reviewed("3"), reviewed("4"))
	c.Answer(events.Text("approve: it was asked for"))
	runs(call(1))
	runs(call(2))
	c.Answer(events.Text("ask: who knows"))
	c.Fail(events.ClassOverloaded)
	c.Lose()
	c.Fire()
	for _, ordinal := range []int{3, 4, 5} {
		c.Command(protocol.Approve{V: protocol.Version, Call: call(ordinal), Decision: protocol.DecideApprove})
		runs(call(ordinal))
	}
	c.Answer(reviewed("5"))
	c.Interrupt()
	c.Fire()
	return over(t, c)
}

// endedReviewStory is a turn in which a mode is set that ends a review.
func endedReviewStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Reviewer: "large"})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolReview, "{}"))
	c.SetMode(events.ApprovalFull)
	c.Claim(call(1), 1)
	c.Result(call(1), events.ToolOK, "done")
	c.Answer(events.Text("done"))
	return over(t, c)
}

// reviewMutations are what reviews add to I9, I10 and I20.
func reviewMutations() []mutation {
	type (
		asked   = events.ApprovalRequested
		decided = events.ApprovalResolved
		step    = events.StepRequested
	)
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, reviewStory, mutate}
	}
	verdict := func(n int, text string) func(log) log {
		return func(l log) log {
			return change(l, n, func(e *events.StepCompleted) { e.Parts = []events.Part{events.Text(text)} })
		}
	}
	return []mutation{
		{verify.RuleInterrupts, "changed: the mode that ended a review", endedReviewStory, func(l log) log {
			return change(l, 1, func(e *events.ModeSet) { e.Approval = events.ApprovalAuto })
		}},
		of(verify.RuleApprovals, "dropped: a review", func(l log) log { return l.drop(nth[step](l, 2)) }),
		of(verify.RuleApprovals, "dropped: what a review came to", func(l log) log {
			return change(l, 2, func(e *asked) { e.Review = nil })
		}),
		of(verify.RuleApprovals, "dropped: a question behind a review", func(l log) log { return l.drop(nth[asked](l, 2)) }),
		of(verify.RuleApprovals, "dropped: the decision of a model", func(l log) log { return l.drop(nth[decided](l, 1)) }),
		of(verify.RuleApprovals, "changed: a model said ask, and its approval", verdict(2, "ask: hm")),
		of(verify.RuleApprovals, "changed: a model said no more than yes", verdict(2, "approve")),
		of(verify.RuleApprovals, "changed: a model said both", verdict(2, "approve: yes\nask: no")),
		of(verify.RuleApprovals, "changed: a model denies", func(l log) log {
			return change(l, 1, func(e *decided) { e.Decision = events.ApprovalDenied })
		}),
		of(verify.RuleApprovals, "changed: a model grants more", func(l log) log {
			return change(l, 1, func(e *decided) { e.Permissions.Grants = []string{"network"} })
		}),
		of(verify.RuleApprovals, "changed: a model approves for the chat", func(l log) log {
			return change(l, 1, func(e *decided) { e.Scope = events.ScopeChat })
		}),
		of(verify.RuleApprovals, "changed: who reviews", func(l log) log { return change(l, 2, func(e *step) { e.Model = "small" }) }),
		of(verify.RuleApprovals, "changed: what is reviewed", func(l log) log {
			return change(l, 2, func(e *step) { e.Call = new(call(2)) })
		}),
		of(verify.RuleApprovals, "changed: how a review failed", func(l log) log {
			return change(l, 3, func(e *asked) { e.Review.Class = events.ClassAuth })
		}),
		of(verify.RuleApprovals, "changed: in which step a call was reviewed", func(l log) log {
			return change(l, 2, func(e *asked) { e.Review.Step.Step++ })
		}),
		of(verify.RuleApprovals, "changed: how a review ended in time", func(l log) log {
			return change(l, 3, func(e *events.StepFailed) { e.Class = events.ClassOverloaded })
		}),
		of(verify.RuleAttempts, "changed: a review is tried again", func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = chatgen.Start.Add(chat.ReviewTime) })
		}),
		of(verify.RuleBounds, "changed: how long a review may take", func(l log) log {
			return change(l, 2, func(e *step) { e.Due = e.Due.Add(events.Skew) })
		}),
	}
}
