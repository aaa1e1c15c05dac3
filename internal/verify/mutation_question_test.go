package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// questionStory is a turn in which a person is asked three times: held, let run on
// and answered; nobody answers; and interrupted.
func questionStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Tools: &[]string{chatgen.ToolRead, chat.ToolAskUser}})
	c.Send("one")
	c.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsQuestion))
	c.Wait(30 * time.Second)
	c.Hold(call(1), true)
	c.Wait(time.Hour)
	c.Hold(call(1), false)
	c.Wait(10 * time.Second)
	c.Hold(call(1), true)
	c.Reply(call(1), chatgen.AnswersOf("blue", "as large as can be")...)
	c.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsQuestion))
	c.Fire()
	c.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsNoOptions), chatgen.Call(chatgen.ToolRead, ""))
	c.Answer(chatgen.Call(chat.ToolAskUser, chatgen.ArgumentsQuestion))
	c.Interrupt()
	return over(t, c)
}

func questionMutations() []mutation {
	asked := func(l log, n int, with func(*events.QuestionAsked)) log {
		return change(l, n, func(e *events.QuestionAsked) {
			e.Questions = slices.Clone(e.Questions)
			with(e)
		})
	}
	answered := func(l log, n int, with func(*events.QuestionAnswered)) log {
		return change(l, n, func(e *events.QuestionAnswered) {
			e.Answers = slices.Clone(e.Answers)
			with(e)
		})
	}
	all := []mutation{
		{rule: verify.RuleSteps, name: "dropped: a question", mutate: func(l log) log { return l.drop(nth[events.QuestionAsked](l, 1)) }},
		{rule: verify.RuleResults, name: "dropped: an answer", mutate: func(l log) log { return l.drop(nth[events.QuestionAnswered](l, 1)) }},
		{rule: verify.RuleCalls, name: "repeated: a question", mutate: func(l log) log { return l.repeat(nth[events.QuestionAsked](l, 1)) }},
		{rule: verify.RuleResults, name: "repeated: an answer", mutate: func(l log) log { return l.repeat(nth[events.QuestionAnswered](l, 1)) }},
		{rule: verify.RuleResults, name: "repeated: a hold", mutate: func(l log) log { return l.repeat(nth[events.QuestionHeld](l, 1)) }},
		{rule: verify.RuleResults, name: "swapped: hold and release", mutate: func(l log) log {
			return l.swap(nth[events.QuestionHeld](l, 1), nth[events.QuestionHeld](l, 2))
		}},
		{rule: verify.RuleResults, name: "swapped: an answer and its result", mutate: func(l log) log {
			return l.swap(nth[events.QuestionAnswered](l, 1), nth[events.ToolCompleted](l, 1))
		}},
		{rule: verify.RuleResults, name: "moved: an answer behind the next question", mutate: func(l log) log {
			return l.move(nth[events.QuestionAnswered](l, 1), nth[events.QuestionAsked](l, 2))
		}},
		{rule: verify.RuleLicence, name: "moved: a question later than its step", mutate: func(l log) log {
			return l.move(nth[events.QuestionAsked](l, 1), nth[events.QuestionHeld](l, 1))
		}},
		{rule: verify.RuleLicence, name: "changed: the question of another tool", mutate: func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Name = chatgen.ToolRead
			})
		}},
		{rule: verify.RuleLicence, name: "changed: a question is handed out to a runner", mutate: func(l log) log {
			s := nth[events.QuestionAsked](l, 1)
			tool := l.at(nth[events.TurnStarted](l, 1)).(events.TurnStarted).Settings.Body.Tools[0]
			l[s.commit].Events[s.event] = events.ToolRequested{
				Call: call(1), Tool: tool.Name, Manifest: tool.Manifest, ReadOnly: true, TimeoutMS: tool.TimeoutMS,
				Arguments: events.DigestOf([]byte(chatgen.ArgumentsQuestion)), Key: protocol.IdempotencyKey(ann, call(1)),
				Deadline: l[s.commit].At.Add(time.Duration(tool.TimeoutMS)*time.Millisecond + events.Dead),
			}
			return l
		}},
		{rule: verify.RuleLicence, name: "changed: a question beside another call", mutate: func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				other := chatgen.Call(chatgen.ToolRead, "")
				other.Ordinal = 2
				e.Parts = append(slices.Clone(e.Parts), other)
			})
		}},
		{rule: verify.RuleCalls, name: "changed: two questions with one id", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.Questions[1].ID = e.Questions[0].ID })
		}},
		{rule: verify.RuleCalls, name: "changed: a blank question", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.Questions[1].Text = " " })
		}},
		{rule: verify.RuleBounds, name: "changed: a question with one option", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.Questions[0].Options = e.Questions[0].Options[:1] })
		}},
		{rule: verify.RuleBounds, name: "changed: no question at all", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.Questions = nil })
		}},
		{rule: verify.RuleBounds, name: "changed: a question that waits too long", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.TimeoutMS *= 10 })
		}},
		{rule: verify.RuleBounds, name: "changed: the timer of a question comes later than it says", mutate: func(l log) log {
			return asked(l, 1, func(e *events.QuestionAsked) { e.Due = e.Due.Add(time.Second) })
		}},
		{rule: verify.RuleBounds, name: "changed: a question that is let run on gains time", mutate: func(l log) log {
			return change(l, 2, func(e *events.QuestionHeld) { e.LeftMS += 1000 })
		}},
		{rule: verify.RuleBounds, name: "changed: a question is held for too long", mutate: func(l log) log {
			return change(l, 1, func(e *events.QuestionHeld) { e.Due = e.Due.Add(time.Hour) })
		}},
		{rule: verify.RuleBounds, name: "changed: a question that is held again gains time", mutate: func(l log) log {
			return change(l, 3, func(e *events.QuestionHeld) { e.Due = e.Due.Add(time.Minute) })
		}},
		{rule: verify.RuleResults, name: "changed: an answer to another question", mutate: func(l log) log {
			return answered(l, 1, func(e *events.QuestionAnswered) { e.Answers[1].Question = "shape" })
		}},
		{rule: verify.RuleResults, name: "changed: a question without an answer", mutate: func(l log) log {
			return answered(l, 1, func(e *events.QuestionAnswered) { e.Answers = e.Answers[:1] })
		}},
		{rule: verify.RuleResults, name: "changed: a blank answer", mutate: func(l log) log {
			return answered(l, 1, func(e *events.QuestionAnswered) { e.Answers[0].Text = "" })
		}},
		{rule: verify.RuleResults, name: "changed: nobody answered, and it is not the first option", mutate: func(l log) log {
			return answered(l, 2, func(e *events.QuestionAnswered) { e.Answers[0].Text = "blue" })
		}},
		{rule: verify.RuleResults, name: "changed: a person is said to have answered when the time was over", mutate: func(l log) log {
			return answered(l, 2, func(e *events.QuestionAnswered) { e.Expired = false })
		}},
		{rule: verify.RuleResults, name: "changed: a question ends by a timer that is not its newest", mutate: func(l log) log {
			l[nth[events.QuestionAnswered](l, 2).commit].Cause.ID = "question-1-2-1-7"
			return l
		}},
		{rule: verify.RuleResults, name: "changed: an answered question has another result than ok", mutate: func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolTimeout, true })
		}},
		{rule: verify.RuleInterrupts, name: "changed: an answered question is called cancelled", mutate: func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolCancelled, true })
		}},
		{rule: verify.RuleInterrupts, name: "dropped: the result of a question that was interrupted", mutate: func(l log) log {
			return l.drop(nth[events.ToolCompleted](l, 5)).drop(nth[events.TurnInterrupted](l, 1))
		}},
	}
	for i := range all {
		all[i].story = questionStory
	}
	return all
}

// actionStory is a turn whose client runs tools of its own: it sends a result, the
// time is over, and it is interrupted.
func actionStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{ClientTools: &[]events.ClientTool{{Name: chatgen.ToolClient, Schema: chatgen.Schema()}}})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolClient, ""), chatgen.Call(chatgen.ToolRead, ""), chatgen.Call(chatgen.ToolClient, chatgen.ArgumentsValid))
	c.Claim(call(2), 1)
	c.Result(call(2), events.ToolOK, "done")
	c.Deliver(call(3), "done")
	c.Fire()
	c.Answer(chatgen.Call(chatgen.ToolClient, ""))
	c.Interrupt()
	return over(t, c)
}

func actionMutations() []mutation {
	all := []mutation{
		{rule: verify.RuleSteps, name: "dropped: an action", mutate: func(l log) log { return l.drop(nth[events.ActionRequested](l, 1)) }},
		{rule: verify.RuleCalls, name: "repeated: an action", mutate: func(l log) log { return l.repeat(nth[events.ActionRequested](l, 1)) }},
		{rule: verify.RuleResults, name: "repeated: the result of a client", mutate: func(l log) log { return l.repeat(nth[events.ToolCompleted](l, 2)) }},
		{rule: verify.RuleLicence, name: "moved: an action before the runner's result", mutate: func(l log) log {
			return l.move(nth[events.ActionRequested](l, 1), nth[events.ToolRequested](l, 1))
		}},
		{rule: verify.RuleLicence, name: "changed: an action leaves out a call", mutate: func(l log) log {
			return change(l, 1, func(e *events.ActionRequested) { e.Calls = e.Calls[:1] })
		}},
		{rule: verify.RuleLicence, name: "changed: an action of a runner's tool", mutate: func(l log) log {
			return change(l, 1, func(e *events.StepCompleted) {
				e.Parts = slices.Clone(e.Parts)
				e.Parts[0].Name = chatgen.ToolRead
			})
		}},
		{rule: verify.RuleBounds, name: "changed: a client has too much time", mutate: func(l log) log {
			return change(l, 1, func(e *events.ActionRequested) { e.Due = e.Due.Add(time.Hour) })
		}},
		{rule: verify.RuleResults, name: "changed: a client's result that a timer brought", mutate: func(l log) log {
			return change(l, 3, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolOK, false })
		}},
		{rule: verify.RuleLicence, name: "changed: a client's call timed out by itself", mutate: func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Status, e.IsError = events.ToolTimeout, true })
		}},
		{rule: verify.RuleLicence, name: "changed: a runner is said to have run a client's call", mutate: func(l log) log {
			return change(l, 2, func(e *events.ToolCompleted) { e.Runner = "r1" })
		}},
		{rule: verify.RuleResults, name: "changed: a client's call is cancelled though it may have been run", mutate: func(l log) log {
			return change(l, 4, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
	}
	for i := range all {
		all[i].story = actionStory
	}
	return all
}
