package verify_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// agentStory is a chat whose agent is gone when its second turn starts, and back
// when that is tried again.
func agentStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	there := map[string]events.Settings{"reviewer": {System: "You review."}}
	c := chatgen.New(ann)
	c.Live.Agents = there
	c.Create(events.Settings{Agent: "reviewer"})
	c.Send("one")
	c.Answer(events.Text("done"))
	c.Live.Agents = nil
	c.Send("two")
	c.Live.Agents = there
	c.Command(protocol.Retry{V: protocol.Version})
	c.Answer(events.Text("done"))
	return over(t, c)
}

func agentMutations() []mutation {
	noAgent := func(turn int, is bool) func(log) log {
		return func(l log) log {
			return change(l, turn, func(e *events.TurnStarted) {
				if e.Settings.Body == nil {
					e.Settings.Body = new(events.Effective)
				}
				body := *e.Settings.Body
				body.NoAgent = is
				e.Settings.Body = &body
			})
		}
	}
	return []mutation{
		{verify.RuleOutcomes, "changed: the agent was there, and the turn fails", agentStory, noAgent(2, false)},
		{verify.RuleSteps, "changed: the agent was gone, and a model is asked", agentStory, noAgent(1, true)},
		{verify.RuleOutcomes, "changed: why a turn without its agent fails", agentStory, func(l log) log {
			return change(l, 1, func(e *events.TurnFailed) { e.Class = events.ClassTimeout })
		}},
	}
}
