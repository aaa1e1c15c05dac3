package verify_test

import (
	"encoding/json"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// approvalStory is a chat with every way in which a call can be decided about:
//
//	step 1.1  one is approved for the chat with other arguments, one runs beside it,
//	          one is left without an answer
//	step 1.2  one was approved for the chat before, one waits until the mode is full
//	step 1.3  in that mode nobody is asked
//	step 1.4  in mode ask one is denied
//	step 1.5  one waits when the turn is interrupted
//	turn 2    one is denied, and the turn is to end with it
func approvalStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	in := func(turn, step, ordinal int) events.CallID {
		return events.CallID{Turn: turn, Step: step, Ordinal: ordinal}
	}
	runs := func(id events.CallID) {
		c.Claim(id, 1)
		c.Result(id, events.ToolOK, "done")
	}
	c.Answer(chatgen.Call(chatgen.ToolAsk, chatgen.ArgumentsValid), chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolAsk, `{"n":2}`))
	runs(in(1, 1, 2))
	c.Command(protocol.Approve{
		V: protocol.Version, Call: in(1, 1, 1), Decision: protocol.DecideApproveForChat, Args: json.RawMessage(`{"n":5}`),
		Permissions: &events.Permissions{Grants: []string{"network"}},
	})
	runs(in(1, 1, 1))
	c.Fire()

	c.Answer(chatgen.Call(chatgen.ToolAsk, `{"n":5}`), chatgen.Call(chatgen.ToolAsk, `{"n":6}`))
	c.SetMode(events.ApprovalFull)
	runs(in(1, 2, 1))
	runs(in(1, 2, 2))

	c.Answer(chatgen.Call(chatgen.ToolAsk, `{"n":7}`))
	runs(in(1, 3, 1))

	c.SetMode(events.ApprovalAsk)
	c.Answer(chatgen.Call(chatgen.ToolAppend, ""))
	c.Deny(in(1, 4, 1))

	c.Answer(chatgen.Call(chatgen.ToolAppend, ""))
	c.Interrupt()

	c.Send("two")
	c.Answer(chatgen.Call(chatgen.ToolAsk, `{"n":8}`))
	c.Command(protocol.Approve{V: protocol.Version, Call: in(2, 1, 1), Decision: protocol.DecideDeny, Stop: true})
	return over(t, c)
}

// approvalMutations are those of I10, and what approvals add to I7 and I9.
func approvalMutations() []mutation {
	type (
		asked   = events.ApprovalRequested
		decided = events.ApprovalResolved
	)
	// Decisions of the story, in order.
	const (
		edited = iota + 1
		unanswered
		remembered
		byMode
		denied
		cancelled
		stopped
	)
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, approvalStory, mutate}
	}
	decision := func(n int, with func(*decided)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	question := func(n int, with func(*asked)) func(log) log {
		return func(l log) log { return change(l, n, with) }
	}
	return []mutation{
		of(verify.RuleCalls, "changed: the arguments that somebody made of a call's", decision(edited, func(e *decided) {
			e.Edited = []events.Part{chatgen.Call(chatgen.ToolAsk, `{"n":9}`)}
		})),
		of(verify.RuleCalls, "dropped: the arguments that somebody made of a call's", decision(edited, func(e *decided) { e.Edited = nil })),
		of(verify.RuleCalls, "repeated: the arguments that somebody made of a call's", decision(edited, func(e *decided) {
			e.Edited = append(e.Edited, e.Edited...)
		})),
		of(verify.RuleCalls, "swapped: the model's arguments and those that were to run", func(l log) log {
			return change(l, 2, func(e *events.ToolRequested) { e.Arguments = l.at(nth[asked](l, 1)).(asked).Arguments })
		}),
		of(verify.RuleCalls, "moved: the arguments that somebody made, to another decision", func(l log) log {
			parts := l.at(nth[decided](l, edited)).(decided).Edited
			l = change(l, edited, func(e *decided) { e.Edited = nil })
			return change(l, remembered, func(e *decided) { e.Edited = parts })
		}),

		of(verify.RuleLicence, "dropped: the question about a call that ran, and the answer", func(l log) log {
			return l.drop(nth[decided](l, edited)).drop(nth[asked](l, 1))
		}),
		of(verify.RuleLicence, "repeated: the handing out of a call, for one that was denied", func(l log) log {
			r := l.at(nth[events.ToolRequested](l, 1)).(events.ToolRequested)
			r.Call = events.CallID{Turn: 1, Step: 4, Ordinal: 1}
			return l.insert(nth[decided](l, denied), r)
		}),
		of(verify.RuleLicence, "swapped: a question and the handing out of its call", func(l log) log {
			return l.swap(nth[asked](l, 1), nth[events.ToolRequested](l, 2))
		}),
		of(verify.RuleLicence, "changed: a call that ran was denied", decision(edited, func(e *decided) { e.Decision = events.ApprovalDenied })),
		of(verify.RuleLicence, "changed: the mode by which a call ran", func(l log) log {
			return change(l, 1, func(e *events.ModeSet) { e.Approval = events.ApprovalAsk })
		}),
		of(verify.RuleLicence, "moved: the handing out of a call before the question", func(l log) log {
			return l.move(nth[events.ToolRequested](l, 2), nth[events.StepCompleted](l, 1))
		}),

		of(verify.RuleApprovals, "dropped: a question", func(l log) log { return l.drop(nth[asked](l, 1)) }),
		of(verify.RuleApprovals, "dropped: a decision", func(l log) log { return l.drop(nth[decided](l, edited)) }),
		of(verify.RuleApprovals, "dropped: the decision that ends with its turn", func(l log) log { return l.drop(nth[decided](l, cancelled)) }),
		of(verify.RuleApprovals, "repeated: a question", func(l log) log { return l.repeat(nth[asked](l, 1)) }),
		of(verify.RuleApprovals, "repeated: a decision", func(l log) log { return l.repeat(nth[decided](l, denied)) }),
		of(verify.RuleApprovals, "swapped: a question and its answer", func(l log) log {
			return l.swap(nth[asked](l, 3), nth[decided](l, remembered))
		}),
		of(verify.RuleApprovals, "swapped: the arguments of two questions", func(l log) log {
			one, two := l.at(nth[asked](l, 1)).(asked).Arguments, l.at(nth[asked](l, 2)).(asked).Arguments
			l = change(l, 1, func(e *asked) { e.Arguments = two })
			return change(l, 2, func(e *asked) { e.Arguments = one })
		}),
		of(verify.RuleApprovals, "changed: the mode that a call was judged by", question(1, func(e *asked) { e.Mode = events.ApprovalAsk })),
		of(verify.RuleApprovals, "changed: the policy that a call was judged by", question(1, func(e *asked) { e.Policy = events.PolicyReview })),
		of(verify.RuleApprovals, "changed: the arguments that were decided about", decision(edited, func(e *decided) {
			e.Arguments = events.DigestOf(nil)
		})),
		of(verify.RuleApprovals, "changed: a deadline approves", decision(unanswered, func(e *decided) { e.Decision = events.ApprovalApproved })),
		of(verify.RuleApprovals, "changed: a person decides by a timer", decision(unanswered, func(e *decided) { e.By = events.ResolvedByUser })),
		of(verify.RuleApprovals, "changed: a rule approves what nobody approved before", decision(edited, func(e *decided) {
			e.Scope = events.ScopeCall
		})),
		of(verify.RuleApprovals, "changed: a rule grants more", decision(byMode, func(e *decided) { e.Permissions.Grants = []string{"network"} })),
		of(verify.RuleApprovals, "changed: a model decides", decision(remembered, func(e *decided) { e.By = events.ResolvedByModel })),
		of(verify.RuleApprovals, "changed: the turn ends, and the call is denied", decision(cancelled, func(e *decided) {
			e.Decision = events.ApprovalDenied
		})),
		of(verify.RuleApprovals, "changed: a call that was denied is said to be invalid", func(l log) log {
			return change(l, 7, func(e *events.ToolCompleted) { e.Status = events.ToolInvalid })
		}),
		of(verify.RuleApprovals, "moved: a decision past the result", func(l log) log {
			return l.move(nth[decided](l, stopped), nth[events.ToolCompleted](l, 9))
		}),
		of(verify.RuleApprovals, "moved: a decision to another commit", func(l log) log {
			return l.move(nth[decided](l, denied), nth[events.StepCompleted](l, 4))
		}),
		{verify.RuleBounds, "changed: how long a call waits for approval", approvalStory, question(1, func(e *asked) { e.Due = e.Due.Add(events.Skew) })},
		{verify.RuleInterrupts, "moved: a question past the request to end its turn", approvalStory, func(l log) log {
			return l.move(nth[asked](l, 6), nth[events.TurnInterruptRequested](l, 1))
		}},
	}
}
