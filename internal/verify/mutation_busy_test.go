package verify_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// busyStory is a chat in which people speak while turns run:
//
//	turn 1  is steered twice: before its step 2, and when it was about to end
//	turn 2  two inputs of three that waited, one of them edited; interrupted by the third
//	turn 3  the third, which was promoted; rolled back, while a call has not begun
//	turn 4  takes the place of turn 3, and another one that interrupts waits behind it
//	turn 5  the one that interrupts
func busyStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(chatgen.Call(chatgen.ToolCount, ""))
	c.SendAs(events.ModeSteer, "look there, too")
	c.Result(call(1), events.ToolOK, "done")
	c.SendAs(events.ModeSteer, "and there")
	c.SendAs(events.ModeSteer, "and there, at last")
	waiting := c.Send("two")
	c.Send("three")
	c.SendAs(events.ModeReject, "no") // turned down
	c.Answer(events.Text("I have"))
	c.Command(protocol.EditInput{V: protocol.Version, Input: waiting, Parts: []events.Part{events.Text("two and a half")}})
	c.Answer(events.Text("and so I have"))

	c.Send("four")
	next := c.Send("five")
	c.Command(protocol.Promote{V: protocol.Version, Input: next})
	c.Command(protocol.Promote{V: protocol.Version, Input: next, Interrupt: true})
	c.Answer(events.Text("half an"))

	c.Answer(chatgen.Call(chatgen.ToolAppend, ""), chatgen.Call(chatgen.ToolAppend, ""))
	c.SendAs(events.ModeInterrupt, "six")
	c.SendAs(events.ModeRollback, "seven")
	c.Fire()
	c.Answer(events.Text("seven it is"))
	c.Answer(events.Text("six it is"))
	c.Answer(events.Text("four it is"))
	return over(t, c)
}

// busyMutations are those of I12, I13 and I14 that are about what people say
// while a turn runs.
func busyMutations() []mutation {
	return []mutation{
		{verify.RuleInputs, "dropped: what steers a turn", busyStory, func(l log) log {
			return l.drop(nth[events.InputSteered](l, 1))
		}},
		{verify.RuleInputs, "repeated: what steers a turn", busyStory, func(l log) log {
			return l.repeat(nth[events.InputSteered](l, 1))
		}},
		{verify.RuleInputs, "swapped: two inputs that steer", busyStory, func(l log) log {
			return change(l, 2, func(e *events.InputSteered) { e.Inputs = []string{e.Inputs[1], e.Inputs[0]} })
		}},
		{verify.RuleInputs, "changed: only one of two inputs steers", busyStory, func(l log) log {
			return change(l, 2, func(e *events.InputSteered) { e.Inputs = e.Inputs[:1] })
		}},
		{verify.RuleInputs, "changed: the step before which a turn is steered", busyStory, func(l log) log {
			return change(l, 1, func(e *events.InputSteered) { e.Step.Step++ })
		}},
		{verify.RuleInputs, "changed: an input that steers to one that waits for the end", busyStory, func(l log) log {
			return change(l, 2, func(e *events.InputAccepted) { e.Mode = events.ModeQueue })
		}},
		{verify.RuleInputs, "changed: an input that waits to one that is to be read at once", busyStory, func(l log) log {
			return change(l, 5, func(e *events.InputAccepted) { e.Mode = events.ModeSteer })
		}},
		{verify.RuleInputs, "moved: what steers past the step that reads it", busyStory, func(l log) log {
			return l.move(nth[events.InputSteered](l, 1), nth[events.StepRequested](l, 2))
		}},
		{verify.RuleInputs, "moved: what steers to where a call is open", busyStory, func(l log) log {
			return l.move(nth[events.InputSteered](l, 1), nth[events.InputAccepted](l, 2))
		}},
		{verify.RuleInputs, "dropped: an interrupting input's way to the front", busyStory, func(l log) log {
			return l.drop(nth[events.InputPromoted](l, 6))
		}},
		{verify.RuleInputs, "changed: an input's place to behind all", busyStory, func(l log) log {
			return change(l, 1, func(e *events.InputPromoted) { e.Place = 9 })
		}},
		{verify.RuleInputs, "changed: what is edited to what does not wait", busyStory, func(l log) log {
			return change(l, 1, func(e *events.InputEdited) { e.Input = ulid(1) })
		}},
		{verify.RuleInputs, "changed: what is promoted to what does not wait", busyStory, func(l log) log {
			return change(l, 1, func(e *events.InputPromoted) { e.Input = ulid(1) })
		}},
		{verify.RuleInputs, "moved: an edit past the turn that takes its input", busyStory, func(l log) log {
			return l.move(nth[events.InputEdited](l, 1), nth[events.TurnStarted](l, 2))
		}},
		{verify.RuleInterrupts, "dropped: the request of an input that comes to stop a turn", busyStory, func(l log) log {
			return l.drop(nth[events.TurnInterruptRequested](l, 2))
		}},
		{verify.RuleInterrupts, "dropped: the request of an input that is promoted to stop a turn", busyStory, func(l log) log {
			return l.drop(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleInterrupts, "changed: an input that waits comes to stop the turn", busyStory, func(l log) log {
			return change(l, 5, func(e *events.InputAccepted) { e.Mode = events.ModeInterrupt })
		}},
		{verify.RuleInterrupts, "moved: what steers into a turn that is to end", busyStory, func(l log) log {
			return l.insert(nth[events.TurnInterruptRequested](l, 1), events.InputSteered{Step: events.StepID{Turn: 2, Step: 2}, Inputs: []string{ulid(1)}})
		}},
		{verify.RuleCommands, "changed: a queued input brings the end of a turn", busyStory, func(l log) log {
			s := nth[events.TurnInterruptRequested](l, 2)
			in := l[s.commit].Events[0].(events.InputAccepted)
			in.Mode = events.ModeQueue
			l[s.commit].Events[0] = in
			return l
		}},
		{verify.RuleOutcomes, "changed: what follows a turn that was taken back to its child", busyStory, func(l log) log {
			return change(l, 4, func(e *events.TurnStarted) { e.Parent = 3 })
		}},
		{verify.RuleOutcomes, "dropped: what steers, so that a step follows the final answer", busyStory, func(l log) log {
			return l.drop(nth[events.InputSteered](l, 2))
		}},
		{verify.RuleOutcomes, "changed: a finish by a tool, with input since", busyStory, func(l log) log {
			return change(l, 1, func(e *events.TurnCompleted) { e.Finish = events.FinishMaxSteps })
		}},
	}
}
