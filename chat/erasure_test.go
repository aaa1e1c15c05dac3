package chat_test

import (
	"bytes"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/protocol"
	"pgregory.net/rapid"
)

// kinds are the types of a commit's events.
func kinds(c events.Commit) string {
	var list []string
	for _, e := range c.Events {
		list = append(list, strings.TrimSuffix(string(e.EventType()), ".v1"))
	}
	return strings.Join(list, " ")
}

// owes are the names of the timers that the chat owes, and of no other work.
func owes(t *testing.T, s chat.State) string {
	t.Helper()
	var names []string
	for _, w := range chat.Owed(s) {
		timer, ok := w.(protocol.Timer)
		if !ok {
			t.Fatalf("the chat owes %+v", w)
		}
		names = append(names, timer.Name)
	}
	return strings.Join(names, " ")
}

func TestErasingAnIdleChat(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("done"))
	asked := c.Command(protocol.Erase{V: protocol.Version})
	for _, want := range []struct{ commit, owes string }{
		{"chat.erase_requested", "erase"}, {"chat.erased", "delete"}, {"content.deleted", ""},
	} {
		if got := kinds(c.Commits[len(c.Commits)-1]); got != want.commit {
			t.Errorf("committed %s, want %s", got, want.commit)
		}
		if got := owes(t, c.State); got != want.owes {
			t.Errorf("after %s the chat owes %q, want %q", want.commit, got, want.owes)
		}
		before := c.Now()
		c.Fire()
		if want.owes == "delete" && c.Now().Sub(before) < events.EraseDelay {
			t.Errorf("the content is deleted %v after the tombstone, want %v", c.Now().Sub(before), events.EraseDelay)
		}
		if reply, ok := c.State.Outcome(asked.ID); !ok || !reply.OK || reply.Rev != 4 {
			t.Errorf("the outcome of the command is %+v, %t", reply, ok)
		}
	}
}

// Whoever has kept a copy erases nothing that is not in it.
func TestErasingAChatAsItWas(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	copied := c.State.Rev()
	c.Command(protocol.Rename{V: protocol.Version, Title: "new"})
	c.Command(protocol.Erase{V: protocol.Version, Rev: &copied})
	if got := kinds(c.Commits[2]); got != "command.rejected" || c.State.EraseRequested() {
		t.Errorf("committed %s", got)
	}
	c.Command(protocol.Erase{V: protocol.Version, Rev: new(uint64)}) // somebody's variable that was never set
	if got := kinds(c.Commits[3]); got != "command.rejected" || c.State.EraseRequested() {
		t.Errorf("committed %s", got)
	}
	c.Command(protocol.Erase{V: protocol.Version, Rev: new(c.State.Rev())})
	if !c.State.EraseRequested() {
		t.Errorf("committed %s", kinds(c.Commits[4]))
	}
}

// Everything that is open ends as when somebody interrupts, and what waits is
// withdrawn. The tombstone waits for that.
func TestErasingAChatThatRuns(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid), chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid))
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	c.Claim(call, 1)
	c.Send("two")
	c.Erase()
	if got, want := kinds(c.Commits[len(c.Commits)-1]), "chat.erase_requested input.withdrawn turn.interrupt_requested tool.completed"; got != want {
		t.Errorf("committed %s, want %s", got, want)
	}
	if got := owes(t, c.State); got != "end-1" {
		t.Errorf("the chat owes %s, want the end of its turn", got)
	}
	if d := c.Handle(chat.TimerDue{Name: protocol.TimerName{Kind: protocol.TimerErase}}); len(d.Events) > 0 {
		t.Errorf("while a turn is open: %v", d.Events)
	}
	c.Result(call, events.ToolOK, "done")
	if got := owes(t, c.State); got != "erase" {
		t.Errorf("the chat owes %s, want the tombstone", got)
	}
}

// A turn that is due when the open one has ended does not begin any more.
func TestErasingAChatWithATurnThatIsDue(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("done"))
	c.Send("two")
	c.Command(protocol.Regenerate{V: protocol.Version, Turn: 1})
	c.Erase()
	c.Rest()
	if !c.State.Erased() || c.State.DeletionOwed() {
		t.Error("the chat is not erased")
	}
	for _, commit := range c.Commits {
		if got := kinds(commit); commit.Rev > 4 && strings.Contains(got, "turn.started") {
			t.Errorf("after the wish to erase the chat: %s", got)
		}
	}
}

// Whatever comes late changes nothing, and gets an answer.
func TestAnErasedChatTakesNothing(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(chatgen.Call(chatgen.ToolAppend, chatgen.ArgumentsValid))
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	c.Erase()
	for range 4 { // while it is to be erased, when it is, and when all of it is deleted
		commits := len(c.Commits)
		for _, body := range []protocol.Body{
			protocol.Create{V: protocol.Version},
			protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text("hi")}},
			protocol.Interrupt{V: protocol.Version},
			protocol.Erase{V: protocol.Version},
			protocol.Fork{V: protocol.Version, Chat: "other"},
		} {
			d := chat.Handle(c.State, chat.Command{ID: c.ID(), Sequence: 99, Body: body}, c.Now(), c.Live)
			if d.Refused == nil || d.Refused.Code != events.CodeErased || len(d.Events) > 0 {
				t.Errorf("%s of a chat at rev %d: %+v", body.Verb(), c.State.Rev(), d)
			}
		}
		if c.State.Erased() {
			if _, d := c.Claim(call, 2); d.Claim == nil || d.Claim.Answer != protocol.ClaimOver {
				t.Errorf("a claim gets %+v", d)
			}
			if d := c.Result(call, events.ToolOK, "late"); d.Result == nil || d.Result.Answer != protocol.ResultDropped {
				t.Errorf("a result gets %+v", d)
			}
			c.Handle(chat.AttemptLost{Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1})
			for _, name := range []protocol.TimerName{
				{Kind: protocol.TimerEnd, Turn: 1}, {Kind: protocol.TimerErase}, {Kind: protocol.TimerDeadline, Call: call},
			} {
				c.Handle(chat.TimerDue{Name: name})
			}
			if len(c.Commits) != commits {
				t.Fatalf("committed %s", kinds(c.Commits[len(c.Commits)-1]))
			}
		}
		c.Fire()
	}
	if !c.State.Erased() || c.State.DeletionOwed() {
		t.Error("the chat is not erased")
	}
}

// What is left of an erased chat says all that its state is, however much of its log
// is gone already.
func TestTheStateOfAnErasedChatIsItsTombstone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c := generate(t)
		if !c.State.Exists() {
			return
		}
		c.Erase()
		c.Rest()
		tombstone := len(c.Commits) - 2
		left := rapid.IntRange(0, tombstone).Draw(t, "commits left")
		var s chat.State
		for i, commit := range c.Commits {
			if i < left || i >= tombstone {
				s = s.Apply(commit, events.Hash(c.Bytes[i]))
			}
			if wrong := s.Wrong(); wrong != "" {
				t.Fatalf("with %d commits left: %s", left, wrong)
			}
		}
		if s.Hash() != c.State.Hash() || s.Rev() != c.State.Rev() || s.Prev() != c.State.Prev() {
			t.Error("the state differs")
		}
		b, err := chat.Encode(s)
		if err != nil {
			t.Fatal(err)
		}
		for _, folded := range []chat.State{s, c.State, decoded(t, b)} {
			if _, ok := folded.Effective(); ok {
				t.Error("there are settings of a turn that is gone")
			}
			if n := len(chat.Prompt(folded).Messages); n != 0 {
				t.Errorf("a model would be shown %d messages of a chat that is gone", n)
			}
		}
		if bytes.Contains(b, []byte(`"past"`)) || bytes.Contains(b, []byte(`"waiting"`)) {
			t.Errorf("there is content in %s", b)
		}
		if again, err := chat.Decode(b); err != nil || again.Hash() != s.Hash() {
			t.Errorf("read back: %v", err)
		}
	})
}

// Nobody goes on from a chat that is erased; from one that is to be, somebody may,
// who was told of it before.
func TestAHistoryOfAnErasedChatIsNone(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Erase()
	if fork := c.ForkAt(forked, 2); fork.State.EraseRequested() {
		t.Error("the fork is to be erased, too")
	}
	c.Rest()
	for rev := uint64(3); rev <= 4; rev++ {
		if _, err := chat.ReadHistory(c.History(rev)); err == nil {
			t.Errorf("up to rev %d it is one", rev)
		}
	}
}

// What stands beside a tombstone would never be gone.
func TestATombstoneStandsAlone(t *testing.T) {
	t.Parallel()
	c := chatgen.New(lawful)
	c.Create(events.Settings{})
	c.Send("one")
	c.Answer(events.Text("done"))
	titled := events.ChatTitled{Title: "new"}
	for _, list := range [][]events.Event{
		{titled, events.ChatErased{}},
		{events.ChatErased{}, titled},
		{events.ChatErased{}, events.ContentDeleted{}},
		{titled, events.ContentDeleted{}},
	} {
		commit := events.Commit{ID: "id", Key: c.State.Key(), Rev: c.State.Rev() + 1, Prev: c.State.Prev(), Events: list}
		if s := c.State.Apply(commit, "hash"); s.Wrong() == "" {
			t.Errorf("%s is folded", kinds(commit))
		}
		b, err := events.Encode(commit)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := chat.ReadHistory(append(append(c.History(c.State.Rev()), b...), '\n')); err == nil {
			t.Errorf("%s is a history to go on from", kinds(commit))
		}
	}
}

// Nobody pays for the summary of a chat that is to be gone.
func TestWhoErasesAChatStopsItsSummary(t *testing.T) {
	t.Parallel()
	s := long(t, 0, 6)
	s.command(protocol.Compact{V: 1})
	_, list := s.command(protocol.Erase{V: 1})
	wants(t, list, "chat.erase_requested", "step.interrupted", "context.compaction_failed")
	if _, _, open := s.state.OpenAttempt(); open {
		t.Error("the summary is still being written")
	}
}
