package verify_test

import (
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// chainMutations are those of I1, I2 and I13.
func chainMutations() []mutation {
	return []mutation{
		{verify.RuleChain, "dropped: the chat's creation", nil, func(l log) log { return l[1:] }},
		{verify.RuleChain, "repeated: the chat's creation", nil, func(l log) log { return l.repeat(spot{0, 0}) }},
		{verify.RuleChain, "swapped: the creation and the first command", nil, func(l log) log {
			l[0], l[1] = l[1], l[0]
			return l
		}},
		{verify.RuleChain, "changed: a commit's time to before the last", nil, func(l log) log {
			l[3].At = l[0].At.Add(-time.Hour)
			return l
		}},
		{verify.RuleChain, "moved: the creation into a later commit", nil, func(l log) log { return l.move(spot{0, 0}, spot{1, 0}) }},

		{verify.RuleCommands, "repeated: a command's commit", nil, func(l log) log { return l.repeatCommit(nth[events.ChatTitled](l, 1).commit) }},
		{verify.RuleCommands, "swapped: two commands of a client", nil, func(l log) log {
			a, b := nth[events.ChatTitled](l, 1).commit, nth[events.ChatTitled](l, 2).commit
			l[a], l[b] = l[b], l[a]
			return l
		}},
		{verify.RuleCommands, "changed: the id of a command to that of one long before", renamedStory, func(l log) log {
			l[len(l)-1].Cause.ID = l[1].Cause.ID
			return l
		}},
		{verify.RuleCommands, "changed: the id of a commit", nil, func(l log) log {
			l[5].ID = l[2].ID
			return l
		}},
		{verify.RuleCommands, "changed: the verb that was noted", nil, func(l log) log {
			return change(l, 1, func(e *events.CommandNoted) { e.Verb = string(protocol.VerbRename) })
		}},
		{verify.RuleCommands, "moved: a rejection beside an effect", nil, func(l log) log {
			return l.move(nth[events.CommandRejected](l, 1), nth[events.ChatTitled](l, 1))
		}},
		{verify.RuleCommands, "moved: a rejection into a commit without a command", nil, func(l log) log {
			return l.move(nth[events.CommandRejected](l, 1), nth[events.StepFailed](l, 1))
		}},

		{verify.RuleCommands, "dropped: what a command brought about", nil, func(l log) log { return l.drop(nth[events.InputAccepted](l, 1)) }},
		{verify.RuleCommands, "changed: the verb of a command", nil, func(l log) log {
			l[nth[events.InputAccepted](l, 1).commit].Cause.Verb = string(protocol.VerbRename)
			return l
		}},
		{verify.RuleCommands, "dropped: the id of a commit", nil, func(l log) log {
			l[5].ID = ""
			return l
		}},
		{verify.RuleCommands, "changed: the kind of a cause", nil, func(l log) log {
			l[nth[events.ChatArchived](l, 1).commit].Cause.Kind = "weather"
			return l
		}},
		{verify.RuleCommands, "moved: a title into another command's commit", nil, func(l log) log {
			return l.move(nth[events.ChatTitled](l, 1), nth[events.ChatArchived](l, 1))
		}},

		{verify.RuleInputs, "dropped: the start of the turn that takes what waits", nil, func(l log) log { return l.drop(nth[events.TurnStarted](l, 2)) }},
		{verify.RuleInputs, "repeated: the acceptance of an input that was taken", nil, func(l log) log {
			return l.insert(nth[events.TurnCompleted](l, 1), l.at(nth[events.InputAccepted](l, 1)))
		}},
		{verify.RuleInputs, "changed: why a failed chat goes on", stalledStory, func(l log) log {
			l[nth[events.TurnStarted](l, 2).commit].Cause.Verb = string(protocol.VerbRename)
			return l
		}},
		{verify.RuleInputs, "dropped: the acceptance of an input", nil, func(l log) log { return l.drop(nth[events.InputAccepted](l, 2)) }},
		{verify.RuleInputs, "dropped: the withdrawal of an input", nil, func(l log) log {
			l = l.drop(nth[events.InputWithdrawn](l, 1))
			return change(l, 3, func(e *events.TurnStarted) { e.Inputs = nil })
		}},
		{verify.RuleInputs, "repeated: the acceptance of an input", nil, func(l log) log { return l.repeat(nth[events.InputAccepted](l, 2)) }},
		{verify.RuleInputs, "swapped: two inputs of a turn", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Inputs = []string{e.Inputs[1], e.Inputs[0]} })
		}},
		{verify.RuleInputs, "changed: which input a turn took", nil, func(l log) log {
			return change(l, 2, func(e *events.TurnStarted) { e.Inputs = e.Inputs[:1] })
		}},
		{verify.RuleInputs, "moved: the withdrawal to before the acceptance", nil, func(l log) log {
			return l.move(nth[events.InputWithdrawn](l, 1), nth[events.TurnStarted](l, 3))
		}},
	}
}

// renamedStory is a chat with more commands than the outcomes that a chat remembers.
func renamedStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	for range 300 {
		c.Command(protocol.Rename{V: protocol.Version, Title: "title"})
	}
	return c
}
