package verify_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// titleStory is a chat for which a model proposes a title, beside a turn, when its
// first worker has gone away.
func titleStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Titler: "large"})
	c.Send("one")
	c.Send("two")
	c.Answer(events.Text("first answer"))
	step := events.StepID{Step: 1}
	c.Handle(chat.AttemptLost{Step: step, Attempt: 1})
	c.Handle(chat.AttemptEnded{Step: step, Attempt: 2, Answer: &model.Answer{
		Parts: []events.Part{events.Text("a title of exactly eight words as said")}, Stop: events.StopEnd, Usage: events.Usage{Input: 3},
	}})
	c.Answer(events.Text("second answer"))
	return over(t, c)
}

// untitledStory is a chat for which a model is asked for a title, and fails; it gets
// one from a person.
func untitledStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Titler: "large"})
	c.Send("one")
	c.Answer(events.Text("first answer"))
	c.Fail(events.ClassOverloaded)
	c.Command(rename("mine"))
	return over(t, c)
}

// awayTitleStory is a chat for which a title is asked for where nobody is, and once
// more of another model.
func awayTitleStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{Titler: "nobody"})
	c.Send("one")
	c.Answer(events.Text("first answer"))
	c.Fail(events.ClassInvalidRequest)
	c.Command(protocol.Configure{V: protocol.Version, Settings: events.Settings{Titler: "large"}})
	c.Send("two")
	c.Answer(events.Text("second answer"))
	c.Answer(events.Text("a title"))
	return over(t, c)
}

// stoppedTitleStory is a chat for which a title is asked for, and given up for a
// summary.
func stoppedTitleStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	for range 5 {
		c.Send(strings.Repeat("question ", 60))
		c.Answer(events.Text(strings.Repeat("answer ", 60)))
	}
	c.Command(protocol.Configure{V: protocol.Version, Settings: events.Settings{Titler: "small"}})
	c.Send("question")
	c.Answer(events.Text("answer"))
	c.Command(protocol.Clear{V: protocol.Version})
	c.Command(protocol.Restore{V: protocol.Version})
	c.Command(protocol.Compact{V: protocol.Version})
	c.Answer(events.Text("notes"))
	return over(t, c)
}

// titleMutations are what titles add to I5, I6 and I20.
func titleMutations() []mutation {
	type (
		step   = events.StepRequested
		titled = events.ChatTitled
	)
	of := func(rule verify.Rule, name string, mutate func(log) log) mutation {
		return mutation{rule, name, titleStory, mutate}
	}
	// The step for the title is the second that is requested, and the fourth.
	asked := func(mutate func(*step)) func(log) log {
		return func(l log) log { return change(l, 2, mutate) }
	}
	return []mutation{
		of(verify.RuleSteps, "changed: who proposes a title", asked(func(e *step) { e.Model = "small" })),
		of(verify.RuleSteps, "changed: who is asked again for a title", func(l log) log {
			return change(l, 4, func(e *step) { e.Model = "small" })
		}),
		of(verify.RuleSteps, "changed: a title is asked for twice", func(l log) log {
			return change(l, 4, func(e *step) { e.Step.Step, e.Attempt = 2, 1 })
		}),
		of(verify.RuleSteps, "changed: what a title is about", asked(func(e *step) { e.Until.Turn = 2 })),
		of(verify.RuleSteps, "changed: a title is about nothing", asked(func(e *step) { e.Until = nil })),
		of(verify.RuleSteps, "changed: a title is asked for though there is one", func(l log) log {
			return change(l, 1, func(e *events.ChatCreated) { e.Title = "mine" })
		}),
		of(verify.RuleSteps, "changed: the title of another step", func(l log) log {
			return change(l, 1, func(e *titled) { e.Step = &events.StepID{Step: 2} })
		}),
		of(verify.RuleSteps, "changed: a title that was not proposed", func(l log) log {
			return change(l, 1, func(e *titled) { e.Title = "another" })
		}),
		of(verify.RuleSteps, "changed: a title that is somebody's, too", func(l log) log {
			return change(l, 1, func(e *titled) { e.By = "user:ann" })
		}),
		of(verify.RuleBounds, "changed: a title of too many words", func(l log) log {
			l = change(l, 2, func(e *events.StepCompleted) { e.Parts[0].Text = "a b c d e f g h i" })
			return change(l, 1, func(e *titled) { e.Title = "a b c d e f g h i" })
		}),
		{verify.RuleSteps, "changed: a title is asked for twice, though somebody had worked on it", awayTitleStory, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.Usage.Input = 1 })
		}},
		{verify.RuleSteps, "changed: a title is asked for twice where nobody is", awayTitleStory, func(l log) log {
			l = change(l, 4, func(e *step) { e.Model = "nobody" })
			return change(l, 2, func(e *events.TurnStarted) {
				e.Settings = l.at(nth[events.TurnStarted](l, 1)).(events.TurnStarted).Settings
			})
		}},
		{verify.RuleAttempts, "changed: a title is tried again", untitledStory, func(l log) log {
			return change(l, 1, func(e *events.StepFailed) { e.RetryAt = chatgen.Start.Add(events.MaxBackoff) })
		}},
		{verify.RuleSteps, "moved: a title behind that of a person", untitledStory, func(l log) log {
			return change(l, 1, func(e *titled) { e.Step, e.By = &events.StepID{Step: 1}, "" })
		}},
	}
}
