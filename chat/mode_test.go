package chat_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func sendIn(mode events.ApprovalMode) protocol.Send {
	return protocol.Send{V: 1, Parts: []events.Part{events.Text("a")}, Settings: &events.Settings{Model: "large", Approval: mode}}
}

func setMode(mode events.ApprovalMode) protocol.SetMode {
	return protocol.SetMode{V: 1, Approval: mode}
}

// endTimer ends a turn that is interrupted and still has something open.
func endTimer(turn int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: turn})
}

// A mode that was set holds for all later turns, also for those that go on with, or
// say again, what was said in another mode before.
func TestS7_1_AModeThatWasSetIsNotUndoneByWhatWasSaidBefore(t *testing.T) {
	t.Parallel()

	interrupted := func(s *story) {
		s.command(sendIn(events.ApprovalFull))
		s.answer(call("pay", "{}"))
		s.command(setMode(events.ApprovalAsk))
		s.command(protocol.Interrupt{V: 1})
		s.tell(endTimer(1))
	}
	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"continue", func(_ *testing.T, s *story) {
			interrupted(s)
			s.command(protocol.Continue{V: 1})
		}},
		{"continue after continue", func(_ *testing.T, s *story) {
			interrupted(s)
			s.command(protocol.Continue{V: 1})
			s.command(protocol.Interrupt{V: 1})
			s.tell(s.interrupted(""))
			s.command(protocol.Continue{V: 1})
		}},
		{"retry", func(_ *testing.T, s *story) {
			s.command(sendIn(events.ApprovalFull))
			s.command(setMode(events.ApprovalAsk))
			s.fail(model.Error{Class: events.ClassAuth})
			s.command(protocol.Retry{V: 1})
		}},
		{"regenerate", func(_ *testing.T, s *story) {
			interrupted(s)
			s.command(protocol.Regenerate{V: 1, Turn: 1})
		}},
		{"edit", func(_ *testing.T, s *story) {
			interrupted(s)
			s.command(edit(1, "b"))
		}},
		{"an edit of another of its inputs, with wishes of its own", func(_ *testing.T, s *story) {
			s.send("a")
			s.command(sendIn(events.ApprovalFull))
			other, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("c")}})
			s.answer(events.Text("done"))
			s.answer(events.Text("done"))
			s.command(setMode(events.ApprovalAsk))
			e := edit(2, "d")
			e.Input, e.Settings = other, &events.Settings{Limits: &events.Limits{Steps: 9}}
			s.command(e)
		}},
		{"an edit that came before", func(_ *testing.T, s *story) {
			s.command(sendIn(events.ApprovalFull))
			s.answer(call("pay", "{}"))
			s.tell(claim(id(1, 1, 1), "k", 1))
			s.command(edit(1, "b"))
			s.command(setMode(events.ApprovalAsk))
			s.tell(endTimer(1))
		}},
		{"an input that waits", func(_ *testing.T, s *story) {
			s.send("a")
			s.command(sendIn(events.ApprovalFull))
			s.command(setMode(events.ApprovalAsk))
			s.answer(events.Text("done"))
		}},
		{"set when no turn runs, in a chat whose own mode it is", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Approval: events.ApprovalAsk}})
			s.command(sendIn(events.ApprovalFull))
			s.command(protocol.Interrupt{V: 1})
			s.tell(s.interrupted(""))
			wants(t, second(s.command(setMode(events.ApprovalAsk))), "mode.set")
			wants(t, second(s.command(setMode(events.ApprovalAsk))), "command.noted")
			s.command(protocol.Continue{V: 1})
		}},
	} {
		t.Run("S7.1 "+tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			tt.run(t, s)
			e, ok := s.state.Effective()
			if _, running := s.state.Running(); !running || !ok || e.Approval != events.ApprovalAsk || tt.name != "an input that waits" && e.Model != "large" {
				t.Errorf("the turn runs: %t, in mode %s with model %s", running, e.Approval, e.Model)
			}
			wants(t, s.answer(call("pay", "{}")), "step.completed", "approval.requested")
		})
	}
	t.Run("S7.1 what is said after it holds", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.command(setMode(events.ApprovalAsk))
		s.command(sendIn(events.ApprovalFull))
		s.command(protocol.Interrupt{V: 1})
		s.tell(s.interrupted(""))
		s.command(protocol.Continue{V: 1})
		wants(t, s.answer(call("pay", "{}")), "step.completed", "tool.requested")
	})
}

func TestS7_1_ACallThatTheClientHasIsNotAskedAbout(t *testing.T) {
	t.Parallel()
	s := beginWithClient(t)
	wants(t, s.answer(call("show", "")), "step.completed", "action.requested")
	wants(t, second(s.command(setMode(events.ApprovalAsk))), "mode.set")
	wants(t, s.deliver(id(1, 1, 1), "shown"), "tool.completed", "step.requested")
	wants(t, s.answer(call("show", "")), "step.completed", "approval.requested")
}

// A turn that is left while a call waits is not the one that the command is about.
func TestTheReplyNamesTheTurnThatTheCommandIsAbout(t *testing.T) {
	t.Parallel()

	parts := []events.Part{events.Text("b")}
	three := func(s *story) {
		s.send("a")
		s.answer(events.Text("A"))
		s.send("b")
		s.answer(events.Text("B"))
		s.send("c")
		s.answer(call("ask", "{}"))
	}
	runs := func(s *story) { // and another call waits
		s.send("a")
		s.answer(call("look", "{}"), call("ask", "{}"))
	}
	waits := func(s *story) {
		s.send("a")
		s.answer(call("ask", "{}"))
		s.send("b")
	}
	for _, tt := range []struct {
		name  string
		begin func(s *story)
		body  protocol.Body
		want  int
	}{
		{"another branch", three, protocol.SelectBranch{V: 1, Turn: 1}, 1},
		{"another branch, and an input waits", func(s *story) { three(s); s.send("d") }, protocol.SelectBranch{V: 1, Turn: 1}, 1},
		{"an input that interrupts", runs, protocol.Send{V: 1, Parts: parts, Mode: events.ModeInterrupt}, 0},
		{"an edit", runs, edit(1, "b"), 0},
		{"regenerate", runs, protocol.Regenerate{V: 1, Turn: 1}, 2},
		{"interrupt", runs, protocol.Interrupt{V: 1}, 1},
		{"approve", runs, approve(id(1, 1, 2)), 1},
		{"deny and stop, and an input waits", waits, protocol.Approve{V: 1, Call: id(1, 1, 1), Decision: protocol.DecideDeny, Stop: true}, 1},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			tt.begin(s)
			id, list := s.command(tt.body)
			if r, ok := s.state.Outcome(id); !ok || !r.OK || r.Turn != tt.want {
				t.Errorf("outcome %+v of %v, want turn %d", r, types(list), tt.want)
			}
		})
	}
}
