package verify_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// branchStory is a chat with branches: turn 2 beside turn 1, twice; a turn that is
// interrupted for turn 4; and a choice of an older one.
func branchStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("first"))
	c.Command(protocol.Edit{V: protocol.Version, Turn: 1, Parts: []events.Part{events.Text("two")}})
	c.Answer(events.Text("second"))
	c.Send("three")
	c.Command(protocol.Edit{V: protocol.Version, Turn: 3, Parts: []events.Part{events.Text("four")}})
	c.Command(protocol.Edit{V: protocol.Version, Turn: 3, Parts: []events.Part{events.Text("five")}})
	step, attempt, _ := c.State.OpenAttempt()
	c.Handle(chat.AttemptEnded{Step: step, Attempt: attempt, Interrupted: true})
	c.Answer(events.Text("fourth"))
	c.Command(protocol.Regenerate{V: protocol.Version, Turn: 4})
	c.Answer(events.Text("fifth"))
	c.Command(protocol.SelectBranch{V: protocol.Version, Turn: 1})
	c.Send("six")
	c.Answer(events.Text("sixth"))
	if turn, running := c.State.Running(); running || turn != 0 {
		t.Fatalf("turn %d of the story is still open", turn)
	}
	return c
}

// stopStory is a chat in which people stop what is due: another answer by an input that
// interrupts, one by an input that rolls back, and one by a plain interrupt;
// then what waits in front of a rollback.
func stopStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(events.Text("first"))
	c.Send("two")
	c.Command(protocol.Regenerate{V: protocol.Version, Turn: 2})
	c.SendAs(events.ModeInterrupt, "three")
	c.Fire()
	c.Command(protocol.Regenerate{V: protocol.Version, Turn: 2})
	c.SendAs(events.ModeRollback, "four")
	c.Fire()
	c.Command(protocol.Regenerate{V: protocol.Version, Turn: 4})
	c.Command(protocol.Interrupt{V: protocol.Version, Turn: 4})
	c.Fire()
	c.Send("five")
	waits := c.Send("six")
	c.SendAs(events.ModeRollback, "seven")
	c.Command(protocol.Promote{V: protocol.Version, Input: waits})
	c.Fire()
	c.Answer(events.Text("six it is"))
	c.Answer(events.Text("seven it is"))
	return over(t, c)
}

// branchMutations are those of the tree that turns form.
func branchMutations() []mutation {
	return []mutation{
		{verify.RuleTurns, "changed: the parent of a turn beside another", branchStory, func(l log) log {
			return change(l, 4, func(e *events.TurnStarted) { e.Parent = 3 })
		}},
		{verify.RuleTurns, "changed: the parent to another than the tip", branchStory, func(l log) log {
			return change(l, 6, func(e *events.TurnStarted) { e.Parent = 5 })
		}},
		{verify.RuleTurns, "dropped: the choice of a branch", branchStory, func(l log) log { return l.drop(nth[events.BranchSelected](l, 5)) }},
		{verify.RuleTurns, "dropped: what a turn is due beside", branchStory, func(l log) log { return l.drop(nth[events.BranchSelected](l, 1)) }},
		{verify.RuleTurns, "dropped: the end of a turn whose branch was left", branchStory, func(l log) log {
			return l.drop(nth[events.TurnInterruptRequested](l, 1))
		}},
		{verify.RuleTurns, "changed: a choice to a turn that is not there", branchStory, func(l log) log {
			return change(l, 5, func(e *events.BranchSelected) { e.Turn = 9 })
		}},
		{verify.RuleTurns, "changed: a turn due beside one of another parent", branchStory, func(l log) log {
			return change(l, 4, func(e *events.BranchSelected) { e.Again = 1 })
		}},
		{verify.RuleTurns, "changed: which turn is answered again", branchStory, func(l log) log {
			return change(l, 5, func(e *events.TurnStarted) { e.Again = 3 })
		}},
		{verify.RuleTurns, "changed: a turn beside another that nobody asked for", branchStory, func(l log) log {
			return change(l, 6, func(e *events.TurnStarted) { e.Cause, e.Again = events.CauseRegenerate, 2 })
		}},
		{verify.RuleInputs, "changed: the inputs of a turn that is answered again", branchStory, func(l log) log {
			return change(l, 5, func(e *events.TurnStarted) { e.Inputs = nil })
		}},
		{verify.RuleInputs, "dropped: the input of an edit", branchStory, func(l log) log { return l.drop(nth[events.InputAccepted](l, 2)) }},
		{verify.RuleInputs, "dropped: the turn that an edit is due in", branchStory, func(l log) log {
			l = l.drop(nth[events.StepRequested](l, 4))
			return l.drop(nth[events.TurnStarted](l, 4))
		}},
		{verify.RuleInputs, "changed: the input that an edit replaces", branchStory, func(l log) log {
			return change(l, 1, func(e *events.BranchSelected) { e.Replaces = "nobody's" })
		}},
		{verify.RuleInterrupts, "dropped: that what is due is taken back by an input that interrupts", stopStory, func(l log) log {
			return l.drop(nth[events.BranchSelected](l, 2))
		}},
		{verify.RuleInterrupts, "changed: an interrupt that lets what is due begin", stopStory, func(l log) log {
			s := nth[events.BranchSelected](l, 6)
			l[s.commit].Events[0] = events.CommandNoted{Verb: string(protocol.VerbInterrupt), Turn: 4}
			return l
		}},
		{verify.RuleInputs, "changed: an edit that is answered without what was said right behind it", joinStory, func(l log) log {
			return change(l, 3, func(e *events.TurnStarted) { e.Inputs = e.Inputs[:1] })
		}},
		{verify.RuleInputs, "swapped: an edit and what was said right behind it", joinStory, func(l log) log {
			return change(l, 3, func(e *events.TurnStarted) { e.Inputs[0], e.Inputs[1] = e.Inputs[1], e.Inputs[0] })
		}},
		{verify.RuleInterrupts, "changed: an edit that begins though somebody came to take it back", joinStory, func(l log) log {
			return change(l, 4, func(e *events.InputAccepted) { e.Mode = events.ModeRollback })
		}},
		{verify.RuleTurns, "changed: where a rollback of what was due stays", stopStory, func(l log) log {
			return change(l, 4, func(e *events.BranchSelected) { e.Turn = 2 })
		}},
		{verify.RuleOutcomes, "changed: the parent of what was put in front of a rollback", stopStory, func(l log) log {
			return change(l, 6, func(e *events.TurnStarted) { e.Parent = 5 })
		}},
		{verify.RuleTurns, "changed: the parent of the rollback behind it", stopStory, func(l log) log {
			return change(l, 7, func(e *events.TurnStarted) { e.Parent = 4 })
		}},
		{verify.RuleCommands, "moved: a choice to a command that makes none", branchStory, func(l log) log {
			return l.move(nth[events.BranchSelected](l, 5), nth[events.StepRequested](l, 6))
		}},
	}
}

// joinStory is a chat in which somebody edits what is being answered, and stops that
// once more.
func joinStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := begun()
	c.Answer(events.Text("first"))
	c.Send("two")
	c.Command(protocol.Edit{V: protocol.Version, Turn: 2, Parts: []events.Part{events.Text("otherwise")}})
	c.SendAs(events.ModeInterrupt, "and at once")
	c.Fire()
	c.Answer(events.Text("both"))
	return over(t, c)
}
