package chat_test

import (
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func TestInterrupt(t *testing.T) {
	t.Parallel()

	code := func(t *testing.T, list []events.Event, want events.Code) {
		t.Helper()
		if got := find[events.CommandRejected](t, list).Code; got != want {
			t.Errorf("code %q, want %q", got, want)
		}
	}
	endOf := func(turn int) chat.TimerDue { return due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: turn}) }

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S6.1 B25 an interrupt names its turn", func(t *testing.T, s *story) {
			_, list := s.command(protocol.Interrupt{V: 1})
			code(t, list, events.CodeNotRunning)
			_, list = s.command(protocol.Interrupt{V: 1, Turn: 1})
			code(t, list, events.CodeUnknownTurn)
			s.send("a")
			s.answer(events.Text("ok"))
			s.send("b")
			_, list = s.command(protocol.Interrupt{V: 1, Turn: 1})
			code(t, list, events.CodeAlreadyFinished)
			_, list = s.command(protocol.Interrupt{V: 1, Turn: 7})
			code(t, list, events.CodeUnknownTurn)
			if turn, ok := s.state.Running(); !ok || turn != 2 {
				t.Errorf("turn %d, %v: the late interrupt stopped the new turn", turn, ok)
			}
		}},
		{"S6.1 twice is once", func(t *testing.T, s *story) {
			s.send("a")
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "turn.interrupt_requested")
			_, list = s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "command.noted")
			wants(t, s.tell(endOf(1)), "step.interrupted", "turn.interrupted")
			wants(t, s.tell(endOf(1)))
			s.answers()
		}},
		{"S6.3 S2.6 the partial answer is kept, its calls are not", func(t *testing.T, s *story) {
			s.send("a")
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			list := s.answer(events.Text("half"), call("pay", "{}"))
			wants(t, list, "step.interrupted", "turn.interrupted")
			if p := find[events.StepInterrupted](t, list).Parts; len(p) != 1 || p[0].Text != "half" {
				t.Errorf("partial %+v", p)
			}
			s.answers()
		}},
		{"S6.2 calls that were not handed out are closed at once, the others by the end timer", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"), call("pay", "{}"))
			s.tell(claim(id(1, 1, 1), "k1", 1))
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "turn.interrupt_requested", "tool.completed")
			if c := find[events.ToolCompleted](t, list); c.Call != id(1, 1, 2) || c.Status != events.ToolCancelled {
				t.Errorf("closed %+v", c)
			}
			list = s.tell(endOf(1))
			wants(t, list, "tool.completed", "turn.interrupted")
			if c := find[events.ToolCompleted](t, list); c.Status != events.ToolUnknown {
				t.Errorf("a call that was started is %q", c.Status)
			}
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "late")) // B01: late results are dropped
			s.answers()
		}},
		{"S4.9 what certainly had no effect is cancelled", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"), call("pay", "{}"))
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			for _, e := range every[events.ToolCompleted](s) {
				if e.Status != events.ToolCancelled {
					t.Errorf("call %s is %q", e.Call, e.Status)
				}
			}
			list := s.tell(endOf(1))
			if c := find[events.ToolCompleted](t, list); c.Status != events.ToolCancelled {
				t.Errorf("a read-only call is %q", c.Status)
			}
		}},
		{"S6.2 a result that comes in time is kept, and ends the turn", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"))
			s.tell(claim(id(1, 1, 1), "k1", 1))
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			list := s.bareResult(id(1, 1, 1), events.ToolOK, "paid")
			wants(t, list, "tool.completed", "turn.interrupted")
		}},
		{"S6.2 after the request no claim is granted and no retry comes", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"))
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			d := chat.Handle(s.state, claim(id(1, 1, 1), "k1", 1), noon, live())
			if len(d.Events) != 0 || d.Claim.Answer != protocol.ClaimOver {
				t.Errorf("decision %+v", d)
			}
		}},
		{"a turn that waits for a retry ends at once", func(t *testing.T, s *story) {
			s.send("a")
			s.fail(model.Error{Class: events.ClassOverloaded})
			_, list := s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, list, "turn.interrupt_requested", "turn.interrupted")
			wants(t, s.tell(due(protocol.TimerName{Kind: protocol.TimerRetry, Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1})))
			s.answers()
		}},
		{"what waits goes on after the interrupt", func(t *testing.T, s *story) {
			s.send("a")
			s.send("b")
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			wants(t, s.tell(endOf(1)), "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
		}},
		{"a lost worker of an interrupted turn closes its step", func(t *testing.T, s *story) {
			s.send("a")
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			step, attempt, _ := s.state.OpenAttempt()
			list := s.tell(chat.AttemptLost{Step: step, Attempt: attempt, Partial: []events.Part{events.Text("so far")}})
			wants(t, list, "step.interrupted", "turn.interrupted")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}
