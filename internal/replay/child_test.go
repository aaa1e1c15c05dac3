package replay_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
)

// Rule: S11.
func TestFamiliesReplayWithoutDifference(t *testing.T) {
	t.Parallel()
	const families, messages = 60, 120
	for number := range families {
		f := chatgen.NewFamily(events.Key{Tenant: "acme", Chat: fmt.Sprintf("family-%d", number)}, rand.New(rand.NewPCG(uint64(number), 18)))
		for range messages {
			f.Step()
		}
		f.Rest()
		for _, c := range f.Chats() {
			for name, o := range map[string]replay.Options{"alone": {}, "with everything": everything(c)} {
				if d := replayed(o, c.Bytes).Difference(); d != nil {
					t.Fatalf("family %d, chat %s, %s: %s", number, c.Key(), name, d)
				}
			}
		}
	}
}

// delegating is a chat with two children, of which one has answered.
func delegating(t *testing.T) (parent, child *chatgen.Chat) {
	t.Helper()
	parent = chatgen.New(ann)
	parent.Create(events.Settings{Tools: &[]string{chat.ToolDelegate}})
	parent.Send("What is it?")
	delegate := chatgen.Call(chat.ToolDelegate, chatgen.ArgumentsTask)
	parent.Answer(delegate, delegate)
	child, ok := parent.ChildOf(events.CallID{Turn: 1, Step: 1, Ordinal: 1})
	if !ok {
		t.Fatal("the call has no child")
	}
	child.Answer(events.Text("42"))
	parent.Report(child)
	return parent, child
}

// What a chat was made with or told is in its log; what follows from it is decided
// anew, and the first thing that is not so is shown.
func TestBirthsAndReportsAreReplayed(t *testing.T) {
	t.Parallel()
	parent, child := delegating(t)
	recalled, _ := parent.ChildOf(events.CallID{Turn: 1, Step: 1, Ordinal: 2})
	p, _ := recalled.State.Parent()
	recalled.Handle(chat.Recall{Parent: p})
	for _, tt := range []struct {
		name  string
		log   *chatgen.Chat
		do    change
		want  place
		field string
	}{
		{"another name for a task", child, on(func(e events.InputAccepted) events.Event {
			e.Input = "task"
			return e
		}), place{1, 2}, "input"},
		{"a chat that is made does not begin", child, on(func(events.TurnStarted) events.Event { return nil }), place{1, 3}, ""},
		{"the end of a child counts for nothing", parent, on(func(events.ChildEnded) events.Event { return nil }), place{4, 1}, ""},
		{"a child counts as failed", parent, on(func(e events.ChildEnded) events.Event {
			e.Outcome = events.ChildFailed
			return e
		}), place{4, 1}, "outcome"},
		{"the answer of a child is cut", parent, on(func(e events.ToolCompleted) events.Event {
			e.Parts = []events.Part{events.Text("4")}
			return e
		}), place{4, 2}, "parts[0].text"},
		{"another reason to stop", recalled, on(func(e events.TurnInterruptRequested) events.Event {
			e.Reason = "enough"
			return e
		}), place{2, 1}, "reason"},
		{"a child that is not waited for goes on", recalled, on(func(events.TurnInterruptRequested) events.Event { return nil }), place{2, 1}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			o := everything(tt.log)
			o.Rules = changed(tt.do)
			d := replayed(o, tt.log.Bytes).Difference()
			if d == nil || (place{d.Rev, d.Event}) != tt.want || d.Field != tt.field {
				t.Errorf("difference %v, want rev %d event %d field %q", d, tt.want.rev, tt.want.event, tt.field)
			}
		})
	}
}

func TestWhyOfAChildAndItsParent(t *testing.T) {
	t.Parallel()
	parent, child := delegating(t)
	recalled, _ := parent.ChildOf(events.CallID{Turn: 1, Step: 1, Ordinal: 2})
	p, _ := recalled.State.Parent()
	recalled.Handle(chat.Recall{Parent: p})
	parent.Fire()
	call := []string{
		"3.1 step.completed.v1 by attempt", "2.3 step.requested.v1", "2.2 turn.started.v1", "2.1 input.accepted.v1 by command",
	}
	for _, tt := range []struct {
		log  *chatgen.Chat
		name string
		want []string
	}{
		{parent, "4.2", append([]string{"4.2 tool.completed.v1", "4.1 child.ended.v1 by chat", "3.2 child.spawned.v1"}, call...)},
		{parent, "5.1", append([]string{"5.1 child.ended.v1 by timer", "3.3 child.spawned.v1"}, call...)},
		{child, "turn:1", []string{
			"2.2 turn.completed.v1", "2.1 step.completed.v1 by attempt", "1.4 step.requested.v1", "1.3 turn.started.v1",
			"1.2 input.accepted.v1", "1.1 chat.created.v3 by chat",
		}},
		{recalled, "2", []string{"2.1 turn.interrupt_requested.v1 by chat", "1.1 chat.created.v3 by chat"}},
	} {
		chain, err := replay.Why(tt.log.Commits, tt.name)
		if err != nil {
			t.Fatal(err)
		}
		if got := links(chain); !slices.Equal(got, tt.want) {
			t.Errorf("why %s of %s:\n%q\nwant\n%q", tt.name, tt.log.Key(), got, tt.want)
		}
	}
}
