package verify_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/verify"
)

// origin is a chat whose first turn has ended and whose second runs, with an
// input that waits.
func origin() *chatgen.Chat {
	c := chatgen.New(events.Key{Tenant: "acme", Chat: "origin"})
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolCount, ""))
	c.Result(call(1), events.ToolOK, "read")
	c.Answer(events.Text("done"))
	c.Send("two")
	c.Send("three")
	return c
}

func goOn(t *testing.T, fork *chatgen.Chat) *chatgen.Chat {
	t.Helper()
	fork.Send("and now?")
	fork.Answer(chatgen.Call(chatgen.ToolCount, ""))
	fork.Result(events.CallID{Turn: 3, Step: 1, Ordinal: 1}, events.ToolOK, "read")
	fork.Answer(events.Text("this"))
	return over(t, fork)
}

// forkStory is a chat that goes on from one whose model was being asked.
func forkStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := origin()
	return goOn(t, c.ForkAt(ann, c.State.Rev()))
}

// forkOfCallsStory is a chat that goes on from one whose calls were open, through
// a third.
func forkOfCallsStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := origin()
	c.Answer(chatgen.Call(chatgen.ToolAppend, "{}"), chatgen.Call(chatgen.ToolAppend, "{}"))
	c.Claim(events.CallID{Turn: 2, Step: 1, Ordinal: 1}, 1)
	moved := c.ImportAt(events.Key{Tenant: "globex", Chat: "moved"}, c.State.Rev())
	moved.Command(rename("Moved"))
	return goOn(t, moved.ForkAt(ann, moved.State.Rev()))
}

// directStory is a chat that goes on from one whose calls were open.
func directStory(t *testing.T) *chatgen.Chat {
	t.Helper()
	c := origin()
	c.Answer(chatgen.Call(chatgen.ToolAppend, "{}"), chatgen.Call(chatgen.ToolAppend, "{}"))
	return goOn(t, c.ImportAt(ann, c.State.Rev()))
}

// inheritMutations are those of chats that go on from another.
func inheritMutations() []mutation {
	first := func(with func(*events.ChatInherited)) func(log) log {
		return func(l log) log { return change(l, 1, with) }
	}
	return []mutation{
		{verify.RuleChain, "changed: the hash that the chat goes on from", forkStory, first(func(e *events.ChatInherited) { e.Origin.Hash = strings.Repeat("0", 64) })},
		{verify.RuleChain, "changed: the rev that the chat goes on from", forkStory, first(func(e *events.ChatInherited) { e.Origin.Rev-- })},
		{verify.RuleChain, "changed: the chat that the chat goes on from", forkStory, first(func(e *events.ChatInherited) { e.Origin.Chat = "other" })},
		{verify.RuleChain, "repeated: what the chat goes on from", forkStory, func(l log) log { return l.repeatCommit(0) }},
		{verify.RuleChain, "moved: what the chat goes on from, to its end", forkStory, func(l log) log { return l.move(spot{0, 0}, spot{0, len(l[0].Events) - 1}) }},
		{verify.RuleTenants, "changed: the history", forkStory, first(func(e *events.ChatInherited) { e.History = events.DigestOf([]byte("other")) })},
		{verify.RuleTenants, "changed: the size of the history", forkStory, first(func(e *events.ChatInherited) { e.Bytes++ })},
		{verify.RuleCommands, "changed: the verb that made the chat out of another", forkStory, func(l log) log {
			l[0].Cause.Verb = "create"
			return l
		}},
		{verify.RuleAttempts, "dropped: the end of the attempt that is open in the history", forkStory, func(l log) log { return l.drop(spot{0, 1}) }},
		{verify.RuleTurns, "dropped: the end of the turn that is open in the history", forkStory, func(l log) log { return l.drop(spot{0, 2}) }},
		{verify.RuleInterrupts, "changed: why the turn that is open in the history ends", forkStory, func(l log) log {
			return change(l, 1, func(e *events.TurnInterrupted) { e.Reason = "enough" })
		}},
		{verify.RuleInputs, "dropped: the withdrawal of what waits in the history", forkStory, func(l log) log { return l.drop(spot{0, 3}) }},
		{verify.RuleResults, "dropped: the result of a call that is open in the history", directStory, func(l log) log { return l.drop(spot{0, 2}) }},
		{verify.RuleLicence, "changed: the result of a call that is open in the history", directStory, func(l log) log {
			return change(l, 1, func(e *events.ToolCompleted) { e.Status = events.ToolCancelled })
		}},
	}
}

// A history is judged like the log it was: its chain may be good and what it says
// may not.
func TestAHistoryIsJudged(t *testing.T) {
	t.Parallel()
	c := origin()
	broken := change(logOf(c), 1, func(e *events.TurnCompleted) { e.Finish = events.FinishLength })
	var raw []byte
	for _, e := range broken.chain(t) {
		raw = append(append(raw, e.Commit...), '\n')
	}
	list, err := events.ReadHistory(raw)
	if err != nil {
		t.Fatal(err)
	}
	fork := forkStory(t)
	fork.Blobs[events.DigestOf(raw)] = raw
	l := change(logOf(fork), 1, func(e *events.ChatInherited) {
		e.Origin, e.History, e.Bytes = events.OriginOf(list), events.DigestOf(raw), int64(len(raw))
	})
	found := check(l.chain(t), verify.Options{Blob: blobs(fork), SkipFold: true})
	if len(found) == 0 || found[0].Rule != verify.RuleOutcomes || !strings.HasPrefix(found[0].Detail, "in the history, line 5: ") || found[0].Rev != 1 {
		t.Errorf("found: %v", found)
	}
	if slices.ContainsFunc(found, func(v verify.Violation) bool { return !strings.HasPrefix(v.Detail, "in the history") }) {
		t.Errorf("the fork itself is blamed: %v", found)
	}
}

// Without its history nothing can be said about a chat.
func TestAChatWithoutItsHistoryIsNotJudged(t *testing.T) {
	t.Parallel()
	for name, o := range map[string]verify.Options{
		"no content at all":        {},
		"content that is not seen": {Blob: func(events.Key, events.Digest) ([]byte, error) { return nil, verify.ErrNotSeen }},
	} {
		o.Idle = true
		checker := verify.New(o)
		for _, e := range logOf(forkStory(t)).chain(t) {
			checker.Add(e)
		}
		if found := checker.Finish(nil); len(found) > 0 || len(checker.Unread()) != 1 {
			t.Errorf("%s: found %v, not judged %v", name, found, checker.Unread())
		}
	}
}

// Commands begin anew in a chat that goes on from another, and so do the inputs
// that are named after them: senders may number theirs within each chat.
func TestAForkMayNameAnInputAsItsHistoryDid(t *testing.T) {
	t.Parallel()
	before := logOf(origin())
	id := before.at(nth[events.InputAccepted](before, 1)).(events.InputAccepted).Input
	fork := forkStory(t)
	l := logOf(fork)
	l[nth[events.InputAccepted](l, 1).commit].Cause.ID = id
	l = change(l, 1, func(e *events.InputAccepted) { e.Input = id })
	l = change(l, 1, func(e *events.TurnStarted) { e.Inputs = []string{id} })
	if found := check(l.chain(t), verify.Options{Blob: blobs(fork), SkipFold: true}); len(found) > 0 {
		t.Errorf("found: %v", found)
	}
}
