package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func TestS5_2_Steer(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"it is taken before the next step, behind the results, and once", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Text("look"), call("look", "{}"))
			b, list := s.sendAs(events.ModeSteer, "b")
			wants(t, list, "input.accepted", "input.promoted")
			c, _ := s.sendAs(events.ModeSteer, "c")
			list = s.bareResult(id(1, 1, 1), events.ToolOK, "found")
			wants(t, list, "tool.completed", "input.steered", "step.requested")
			e := find[events.InputSteered](t, list)
			if e.Step != (events.StepID{Turn: 1, Step: 2}) || !slices.Equal(e.Inputs, []string{b, c}) {
				t.Errorf("steered %+v", e)
			}
			s.waits()
			s.reads("a", "look", "=found", "b", "c")
			wants(t, s.answer(events.Text("ok")), "step.completed", "turn.completed")
			s.reads("a", "look", "=found", "b", "c", "ok")
			if n := len(every[events.InputSteered](s)); n != 1 {
				t.Errorf("taken %d times", n)
			}
		}},
		{"★ a turn does not complete over unread steering", func(t *testing.T, s *story) {
			s.send("a")
			s.sendAs(events.ModeSteer, "b")
			list := s.answer(events.Text("done"))
			wants(t, list, "step.completed", "input.steered", "step.requested")
			s.reads("a", "done", "b")
			wants(t, s.answer(events.Text("now, too")), "step.completed", "turn.completed")
		}},
		{"★ nor over a tool that ends turns, a refusal, a cut, or a filter", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("done", "{}"))
			s.sendAs(events.ModeSteer, "b")
			wants(t, s.result(id(1, 1, 1), events.ToolOK, "done"), "tool.completed", "input.steered", "step.requested")
			s.sendAs(events.ModeSteer, "c")
			wants(t, s.stopped(events.StopRefused), "step.completed", "input.steered", "step.requested")
			s.sendAs(events.ModeSteer, "d")
			wants(t, s.stopped(events.StopLength, events.Text("cut")), "step.completed", "input.steered", "step.requested")
			s.sendAs(events.ModeSteer, "e")
			wants(t, s.fail(model.Error{Class: events.ClassContentFilter}), "step.failed", "input.steered", "step.requested")
			wants(t, s.fail(model.Error{Class: events.ClassContentFilter}), "step.failed", "turn.completed")
			s.answers()
		}},
		{"the limit of steps counts from the last input, steered ones as well", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Limits: &events.Limits{Steps: 1}}})
			s.send("a")
			s.answer(call("look", "{}"))
			s.sendAs(events.ModeSteer, "b")
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "found"), "tool.completed", "input.steered", "step.requested")
			s.answer(call("look", "{}"))
			list := s.bareResult(id(1, 2, 1), events.ToolOK, "found")
			if f := find[events.TurnCompleted](t, list).Finish; f != events.FinishMaxSteps {
				t.Errorf("finish %q", f)
			}
		}},
		{"an attempt that is tried again is no boundary: it reads what it read", func(t *testing.T, s *story) {
			s.send("a")
			before := every[events.StepRequested](s)[0]
			s.sendAs(events.ModeSteer, "b")
			s.fail(model.Error{Class: events.ClassOverloaded})
			list := s.tell(due(protocol.TimerName{Kind: protocol.TimerRetry, Step: events.StepID{Turn: 1, Step: 1}, Attempt: 1}))
			if again := find[events.StepRequested](t, list); again.Prompt != before.Prompt {
				t.Error("the attempt is shown something else")
			}
			wants(t, s.answer(events.Text("done")), "step.completed", "input.steered", "step.requested")
		}},
		{"without a turn it starts one", func(t *testing.T, s *story) {
			_, list := s.sendAs(events.ModeSteer, "a")
			wants(t, list, "input.accepted", "turn.started", "step.requested")
			s.answer(events.Text("ok"))
		}},
		{"an interrupted turn does not take it; it is the next, before what is queued", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			c, _ := s.sendAs(events.ModeSteer, "c")
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			list := s.tell(endOf(1))
			wants(t, list, "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
			if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{c}) {
				t.Errorf("inputs %v", got)
			}
			s.waits(b)
		}},
		{"a turn that begins with another input reads it before its first step", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			s.sendAs(events.ModeSteer, "c")
			s.command(protocol.Promote{V: 1, Input: b, Interrupt: true})
			list := s.tell(endOf(1))
			wants(t, list, "step.interrupted", "turn.interrupted", "turn.started", "input.steered", "step.requested")
			s.reads("a", "b", "c")
		}},
		{"a retry asks the same again; what steers is read after that", func(t *testing.T, s *story) {
			s.send("a")
			before := every[events.StepRequested](s)[0]
			s.sendAs(events.ModeSteer, "b")
			s.fail(model.Error{Class: events.ClassAuth})
			_, list := s.command(protocol.Retry{V: 1})
			wants(t, list, "turn.started", "step.requested")
			if again := find[events.StepRequested](t, list); again.Prompt != before.Prompt {
				t.Error("the retry is shown something else")
			}
			wants(t, s.answer(events.Text("done")), "step.completed", "input.steered", "step.requested")
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"queued input stays behind", func(t *testing.T, s *story) {
			s.send("a")
			q, _ := s.sendAs("", "q")
			s.sendAs(events.ModeSteer, "b")
			s.answer(events.Text("done"))
			s.waits(q)
			s.answer(events.Text("done again"))
			s.reads("a", "done", "b", "done again", "q")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}
