package verify_test

import (
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// erasedStory is a chat that is erased while a call runs and inputs wait.
//
//	1 chat.created                       6 chat.erase_requested, input.withdrawn, turn.interrupt_requested
//	2 input.accepted, turn.started, …    7 tool.completed, turn.interrupted
//	3 step.completed, tool.requested     8 chat.erased
//	4 tool.started                       9 content.deleted
//	5 input.accepted
func erasedStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := chatgen.New(ann)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid))
	c.Claim(call(1), 1)
	c.Send("two")
	c.Erase()
	c.Result(call(1), events.ToolOK, "done")
	c.Fire()
	c.Fire()
	if !c.State.Erased() || c.State.DeletionOwed() {
		t.Fatal("the chat is not erased")
	}
	return over(t, c)
}

// erasureMutations are those of chats that are erased.
func erasureMutations() []mutation {
	const asked, tombstone, last = 5, 7, 8
	return []mutation{
		{verify.RuleChain, "dropped: the wish to erase the chat", erasedStory, func(l log) log { return slices.Delete(l, asked, asked+1) }},
		{verify.RuleChain, "dropped: the tombstone", erasedStory, func(l log) log { return slices.Delete(l, tombstone, tombstone+1) }},
		{verify.RuleChain, "dropped: the end of the deletion", erasedStory, func(l log) log { return l[:last] }},
		{verify.RuleChain, "dropped: all that the wish to erase the chat leads to", erasedStory, func(l log) log { return l[:tombstone] }},
		{verify.RuleChain, "repeated: the tombstone", erasedStory, func(l log) log { return l.repeatCommit(tombstone) }},
		{verify.RuleChain, "repeated: the deletion", erasedStory, func(l log) log { return l.repeatCommit(last) }},
		{verify.RuleChain, "repeated: something after the deletion", erasedStory, func(l log) log {
			again := l[1]
			again.ID = ulid(0)
			return append(l, again)
		}},
		{verify.RuleChain, "changed: which command asked for the erasure", erasedStory, func(l log) log {
			return change(l, 1, func(e *events.ChatErased) { e.Command = ulid(7) })
		}},
		{verify.RuleChain, "changed: when the erasure was asked for", erasedStory, func(l log) log {
			return change(l, 1, func(e *events.ChatErased) { e.Requested-- })
		}},
		{verify.RuleChain, "moved: the tombstone, into the commit before it", erasedStory, func(l log) log {
			return l.move(spot{tombstone, 0}, spot{tombstone - 1, 1})
		}},
		{verify.RuleCommands, "changed: the verb that asked for the erasure", erasedStory, func(l log) log {
			l[asked].Cause.Verb = string(protocol.VerbArchive)
			return l
		}},
		{verify.RuleCommands, "repeated: a command, after the erasure was asked for", erasedStory, func(l log) log {
			again := l[4]
			again.ID, again.Cause.ID, again.Cause.Sequence = ulid(0), ulid(1), 99
			again.Events = []events.Event{events.ChatArchived{}}
			again.Cause.Verb = string(protocol.VerbArchive)
			return slices.Insert(l, asked+1, again)
		}},
		{verify.RuleInputs, "dropped: the withdrawal of what waits", erasedStory, func(l log) log { return l.drop(spot{asked, 1}) }},
		{verify.RuleTurns, "dropped: the end of the turn that ran", erasedStory, func(l log) log { return l.drop(spot{asked + 1, 1}) }},
		{verify.RuleBounds, "changed: when the deletion is due", erasedStory, func(l log) log {
			return change(l, 1, func(e *events.ChatErased) { e.Due = e.Due.Add(time.Minute) })
		}},
	}
}

// What is left of an erased chat is all that can be judged of it.
func TestATombstoneThatCannotBe(t *testing.T) {
	t.Parallel()
	all := logOf(erasedStory(t)).chain(t)
	for name, left := range map[string][]verify.Entry{
		"a tombstone that is not the beginning, without one": all[8:],
		"a beginning that is not one":                        slices.Concat(all[1:3], all[7:]),
		"a log with a hole":                                  slices.Concat(all[:2], all[3:]),
	} {
		if found := check(left, verify.Options{Idle: true, Schema: schema}); len(found) == 0 {
			t.Errorf("%s: nothing is reported", name)
		}
	}
}

// A snapshot that is left has the content that was to be deleted.
func TestASnapshotOfAnErasedChatIsReported(t *testing.T) {
	t.Parallel()
	all := logOf(erasedStory(t)).chain(t)
	found := check(all[7:], verify.Options{Idle: true, Snapshot: func(events.Key) []byte { return []byte("{}") }})
	if len(found) != 1 || found[0].Rule != verify.RuleReplay {
		t.Errorf("found %v, want one violation of %s", found, verify.RuleReplay)
	}
}
