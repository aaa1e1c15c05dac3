package chat_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// family is a parent whose model may delegate. Word goes by hand.
func family(t *testing.T) *story {
	t.Helper()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: new([]string{"delegate", "look", "pay", "ask"})}})
	s.send("do it")
	return s
}

// delegates lets the model delegate n tasks.
func (s *story) delegates(n int) []events.Event {
	s.t.Helper()
	parts := make([]events.Part, n)
	for i := range parts {
		parts[i] = call("delegate", fmt.Sprintf(`{"task":"part %d"}`, i+1))
	}
	return s.answer(parts...)
}

// child is the chat of an open call, made as an orchestrator makes it.
func (s *story) child(id events.CallID) *story {
	s.t.Helper()
	b, ok := s.state.BirthOf(id)
	if !ok {
		s.t.Fatalf("call %s has no child", id)
	}
	c := &story{t: s.t, at: noon}
	c.tell(b)
	return c
}

// reports brings to the parent what the child has come to.
func (s *story) reports(child *story) []events.Event {
	s.t.Helper()
	r, ended := child.state.ReportTo(parentOf(child))
	if !ended {
		s.t.Fatal("the child has not ended")
	}
	r.Child = protocol.ChildKey(key, r.Call).Chat // in these tests every chat has the same name
	return s.tell(r)
}

func parentOf(child *story) events.Parent {
	p, _ := child.state.Parent()
	return p
}

func told(list []protocol.Work) []string {
	var all []string
	for _, w := range list {
		switch w := w.(type) {
		case protocol.ChatWork:
			all = append(all, w.Name())
		case protocol.Timer:
			all = append(all, w.Name)
		case protocol.ModelWork, protocol.ToolWork:
			all = append(all, w.Kind())
		}
	}
	return all
}

func TestS11_TheFinalAnswerOfTheChildIsTheResultOfTheCall(t *testing.T) {
	t.Parallel()
	s := family(t)
	spawned := find[events.ChildSpawned](t, s.delegates(1))
	if want := protocol.ChildKey(key, id(1, 1, 1)).Chat; spawned.Child != want || spawned.Depth != 1 {
		t.Fatalf("spawned %+v, want the child %s at depth 1", spawned, want)
	}
	if got, want := told(chat.Owed(s.state)), []string{"report-1-1-1", "deadline-1-1-1"}; !slices.Equal(got, want) {
		t.Fatalf("owed %v, want %v", got, want)
	}
	child := s.child(id(1, 1, 1))
	wants(t, child.log[0].Events, "chat.created", "input.accepted", "turn.started", "step.requested")
	if p, ok := child.state.Parent(); !ok || p != (events.Parent{Chat: key.Chat, Call: id(1, 1, 1)}) {
		t.Fatalf("parent %+v, %t", p, ok)
	}
	if _, ended := child.state.ReportTo(parentOf(child)); ended {
		t.Fatal("a child reports that has not ended")
	}
	child.answer(events.Text("42"))
	if words := chat.Words(child.state, child.log[len(child.log)-1].Events); !slices.Equal(told(words), []string{"ended-1-1-1"}) {
		t.Fatalf("the child tells %v", told(words))
	}
	list := s.reports(child)
	wants(t, list, "child.ended", "tool.completed", "step.requested")
	if r := find[events.ToolCompleted](t, list); r.Status != events.ToolOK || r.IsError || r.Parts[0].Text != "42" {
		t.Fatalf("result %+v", r)
	}
	if again, _ := child.state.ReportTo(parentOf(child)); len(chat.Handle(s.state, again, noon, live()).Events) > 0 {
		t.Error("a second report of the same child changes something")
	}
	s.answer(events.Text("it is 42"))
	s.answers()
}

func TestS11_AChildIsMadeOnceHoweverOftenItIsTried(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	b, _ := s.state.BirthOf(id(1, 1, 1))
	child := s.child(id(1, 1, 1))
	if d := chat.Handle(child.state, b, noon, live()); len(d.Events) > 0 {
		t.Errorf("a child that exists is made again: %v", types(d.Events))
	}
	if child.log[0].Cause != chat.CauseOf(b) {
		t.Errorf("cause %+v, want that of its birth %+v", child.log[0].Cause, chat.CauseOf(b))
	}
}

func TestS11_FailureAndInterruptionOfTheChildAreErrorResults(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		end     func(*story)
		outcome events.ChildOutcome
		said    string
	}{
		{"it fails", func(c *story) { c.fail(model.Error{Class: events.ClassAuth, Message: "no key"}) }, events.ChildFailed, "no key"},
		{"it is interrupted", func(c *story) {
			c.command(protocol.Interrupt{V: 1})
			c.tell(c.interrupted("half an ans"))
		}, events.ChildInterrupted, "interrupted"},
		{"it refuses", func(c *story) { c.stopped(events.StopRefused, events.Text("No.")) }, events.ChildCompleted, "refused"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := family(t)
			s.delegates(1)
			child := s.child(id(1, 1, 1))
			tt.end(child)
			list := s.reports(child)
			if e := find[events.ChildEnded](t, list); e.Outcome != tt.outcome {
				t.Errorf("outcome %q, want %q", e.Outcome, tt.outcome)
			}
			r := find[events.ToolCompleted](t, list)
			if r.Status != events.ToolError || !r.IsError || !strings.Contains(r.Parts[0].Text, tt.said) {
				t.Errorf("result %+v, want an error that says %q", r, tt.said)
			}
		})
	}
}

func TestS11_OnlyTheFirstTurnOfAChildReports(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	child := s.child(id(1, 1, 1))
	child.answer(events.Text("first"))
	child.send("and?")
	child.answer(events.Text("second"))
	if words := chat.Words(child.state, child.log[len(child.log)-1].Events); len(words) > 0 {
		t.Errorf("the second turn tells %v", told(words))
	}
	if r := find[events.ToolCompleted](t, s.reports(child)); r.Parts[0].Text != "first" {
		t.Errorf("result %q", r.Parts[0].Text)
	}
}

func TestS11_EightChildrenAreOpenAndTheOthersWaitForAPlace(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(50)
	for ended := range 50 {
		open := s.state.OpenChildren()
		if want := min(events.MaxOpenChildren, 50-ended); len(open) != want {
			t.Fatalf("%d children are open after %d have ended, want %d", len(open), ended, want)
		}
		child := s.child(open[0])
		child.answer(events.Text("done"))
		s.reports(child)
	}
	if got := len(every[events.ChildSpawned](s)); got != 50 {
		t.Errorf("%d children, want 50", got)
	}
	s.answer(events.Text("all done"))
	s.answers()
}

func TestS11_AtTheThirdDepthNobodyDelegates(t *testing.T) {
	t.Parallel()
	s := family(t)
	for depth := 1; depth <= events.MaxDepth; depth++ {
		if e := find[events.ChildSpawned](t, s.delegates(1)); e.Depth != depth {
			t.Fatalf("depth %d, want %d", e.Depth, depth)
		}
		s = s.child(id(1, 1, 1))
	}
	if r := find[events.ToolCompleted](t, s.delegates(1)); r.Status != events.ToolNotFound {
		t.Errorf("status %q, want not_found", r.Status)
	}
}

func TestS6_4_ChildrenAreToldBeforeTheEndTimerIsSet(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(10)
	_, list := s.command(protocol.Interrupt{V: 1})
	wants(t, list, "turn.interrupt_requested", "tool.completed", "tool.completed") // those that wait for a place
	owed := told(chat.Owed(s.state))
	if len(owed) != 9 || owed[0] != "stop-1-1-1" || owed[7] != "stop-1-1-8" || owed[8] != "end-1" {
		t.Fatalf("owed %v, want eight children told, and then the end timer", owed)
	}
	list = s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}))
	for _, r := range list {
		if r, ok := r.(events.ToolCompleted); ok && r.Status != events.ToolUnknown {
			t.Errorf("call %s ends %q, want unknown", r.Call, r.Status)
		}
	}
	find[events.TurnInterrupted](t, list)
	s.answers()
}

func TestS6_4_AnInterruptReachesTheChildAndItsAnswerEndsTheTurn(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	child := s.child(id(1, 1, 1))
	s.command(protocol.Interrupt{V: 1})
	recall := chat.Recall{Parent: events.Parent{Chat: key.Chat, Call: id(1, 1, 1)}}
	wants(t, child.tell(recall), "turn.interrupt_requested")
	if list := child.tell(recall); len(list) > 0 {
		t.Errorf("told twice, it does %v", types(list))
	}
	child.tell(child.interrupted("half"))
	wants(t, s.reports(child), "child.ended", "tool.completed", "turn.interrupted")
}

func TestS6_4_ARecallLeavesALaterTurnOfTheChildAlone(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	child := s.child(id(1, 1, 1))
	child.answer(events.Text("done"))
	child.send("something else")
	if list := child.tell(chat.Recall{Parent: events.Parent{Chat: key.Chat, Call: id(1, 1, 1)}}); len(list) > 0 {
		t.Errorf("the second turn: %v", types(list))
	}
}

func TestS6_4_AChildThatIsMadeTooLateIsMadeEnded(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	late, _ := s.state.BirthOf(id(1, 1, 1))
	s.command(protocol.Interrupt{V: 1})
	child := s.child(id(1, 1, 1))
	wants(t, child.log[0].Events, "chat.created", "input.accepted", "turn.started", "turn.interrupt_requested", "turn.interrupted")
	if d := chat.Handle(child.state, late, noon, live()); len(d.Events) > 0 {
		t.Errorf("a late spawn begins: %v", types(d.Events))
	}
	wants(t, s.reports(child), "child.ended", "tool.completed", "turn.interrupted")
}

func TestS4_9_ACallWhoseChildIsNotWaitedForIsUnknown(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	child := s.child(id(1, 1, 1))
	list := s.tell(due(protocol.TimerName{Kind: protocol.TimerDeadline, Call: id(1, 1, 1)}))
	wants(t, list, "child.ended", "tool.completed", "step.requested")
	if r := find[events.ToolCompleted](t, list); r.Status != events.ToolUnknown {
		t.Errorf("status %q", r.Status)
	}
	child.answer(events.Text("too late"))
	if list := s.reports(child); len(list) > 0 {
		t.Errorf("a late report: %v", types(list))
	}
}

func TestS11_AForkWorksForNobodyAndClosesWhatItsOriginWaitsFor(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(1)
	child := s.child(id(1, 1, 1))
	if _, ok := child.state.Inherit().Parent(); ok {
		t.Error("a fork of a child has the child's parent")
	}
	list := s.tell(chat.Restored{})
	wants(t, list, "child.ended", "tool.completed", "turn.interrupted")
}

func TestS11_AChildGetsWhatItsContextSays(t *testing.T) {
	t.Parallel()
	for context, want := range map[string][]string{"none": nil, "all": {"first", "I see", "do it"}, "last_n": {"do it"}} {
		t.Run(context, func(t *testing.T) {
			t.Parallel()
			s := &story{t: t, at: noon}
			s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: new([]string{"delegate"})}})
			s.send("first")
			s.answer(events.Text("I see"))
			s.send("do it")
			s.answer(call("delegate", `{"task":"look","messages":1,"context":"`+context+`"}`))
			b, _ := s.state.BirthOf(id(1+1, 1, 1))
			if got := len(b.Parts); got != 1+min(1, len(want)) || b.Parts[got-1].Text != "look" {
				t.Fatalf("parts %+v", b.Parts)
			}
			for _, text := range []string{"first", "I see", "do it"} {
				if got := strings.Contains(b.Parts[0].Text, text); got != slices.Contains(want, text) {
					t.Errorf("%q is there: %t", text, got)
				}
			}
		})
	}
}

func TestS9_PlanModeHasNoDelegate(t *testing.T) {
	t.Parallel()
	s := &story{t: t, at: noon}
	s.command(protocol.Create{V: 1, Settings: events.Settings{Tools: new([]string{"delegate"})}})
	s.command(protocol.SetMode{V: 1, Plan: new(true)})
	s.send("plan it")
	if r := find[events.ToolCompleted](t, s.delegates(1)); r.Status != events.ToolNotFound {
		t.Errorf("status %q, want not_found", r.Status)
	}
}

func TestB36_TheAnswerOfOneChildDoesNotWaitForAnother(t *testing.T) {
	t.Parallel()
	s := family(t)
	s.delegates(2)
	hung, quick := s.child(id(1, 1, 1)), s.child(id(1, 1, 2))
	hung.answer(call("pay", `{}`))
	quick.answer(events.Text("done"))
	wants(t, s.reports(quick), "child.ended", "tool.completed")
	s.send("are you there?")
	s.command(protocol.Interrupt{V: 1})
	hung.tell(chat.Recall{Parent: events.Parent{Chat: key.Chat, Call: id(1, 1, 1)}})
	hung.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}))
	list := s.reports(hung)
	wants(t, list, "child.ended", "tool.completed", "turn.interrupted", "turn.started", "step.requested")
}
