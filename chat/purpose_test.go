package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// asked has something asked for as if it had been decided.
func (s *story) asked(e ...events.Event) {
	s.t.Helper()
	s.commit(chat.TimerDue{Name: protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}}, e)
	if wrong := s.state.Wrong(); wrong != "" {
		s.t.Fatal(wrong)
	}
}

// work is the only attempt that is owed.
func (s *story) work() protocol.ModelWork {
	s.t.Helper()
	var found []protocol.ModelWork
	for _, w := range chat.Owed(s.state) {
		if w, ok := w.(protocol.ModelWork); ok {
			found = append(found, w)
		}
	}
	if len(found) != 1 {
		s.t.Fatalf("owed %+v", found)
	}
	return found[0]
}

func TestPurposes(t *testing.T) {
	t.Parallel()
	second := events.StepRequested{Step: events.StepID{Turn: 1, Step: 2}, Purpose: events.PurposeReview, Attempt: 1, Model: "m", Pool: "p"}
	aside := events.StepRequested{Step: events.StepID{Turn: 0, Step: 1}, Purpose: events.PurposeTitle, Attempt: 1, Model: "m", Pool: "p"}

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S10.3 steps of every purpose share the turn's counter, and only answers count as steps since the input", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Limits: &events.Limits{Steps: 2}}})
			s.send("a")
			s.answer(call("look", "{}"))
			s.asked(second)
			if w := s.work(); w.Step != second.Step || w.Purpose != events.PurposeReview || w.Pool != "p" {
				t.Errorf("work %+v", w)
			}
			wants(t, s.answer(events.Text("reviewed")), "step.completed")
			list := s.result(id(1, 1, 1), events.ToolOK, "seen")
			wants(t, list, "tool.completed", "step.requested")
			if e := find[events.StepRequested](t, list); e.Step.Step != 3 || e.Purpose != events.PurposeAnswer {
				t.Errorf("asked %+v", e)
			}
			list = s.answer(call("look", "{}"))
			list = append(list, s.result(id(1, 3, 1), events.ToolOK, "seen")...)
			if done := find[events.TurnCompleted](t, list); done.Finish != events.FinishMaxSteps || done.Totals.Steps != 3 {
				t.Errorf("completed %+v", done)
			}
		}},
		{"a call goes on while a model is asked for something else", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"), call("pay", "{}"))
			s.asked(second)
			wants(t, s.result(id(1, 1, 1), events.ToolOK, "paid"), "tool.completed", "tool.requested")
			wants(t, s.result(id(1, 1, 2), events.ToolOK, "paid"), "tool.completed")
			wants(t, s.answer(events.Text("reviewed")), "step.completed", "step.requested")
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"only answers are shown to the model, and nothing else calls tools", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			s.asked(second)
			list := s.answer(events.Text("secret"), call("pay", "{}"))
			if done := find[events.StepCompleted](t, list); len(done.Parts) != 1 || done.Parts[0].Text != "secret" {
				t.Errorf("completed with %+v", done.Parts)
			}
			s.result(id(1, 1, 1), events.ToolOK, "seen")
			if shown := string(chat.Prompt(s.state).Canonical()); strings.Contains(shown, "secret") || !strings.Contains(shown, "seen") {
				t.Errorf("shown %s", shown)
			}
			s.answer(events.Text("b"))
			s.answers()
		}},
		{"an interrupt closes what is asked for, and keeps nothing of it", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			s.asked(second)
			s.command(protocol.Interrupt{V: 1, Turn: 1})
			m := s.ended(nil, nil)
			m.Interrupted, m.Partial = true, []events.Part{events.Text("half")}
			list := s.tell(m)
			if e := find[events.StepInterrupted](t, list); e.Step != second.Step || e.Parts != nil {
				t.Errorf("interrupted %+v", e)
			}
			list = s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}))
			wants(t, list, "tool.completed", "turn.interrupted")
			s.answers()
		}},
		{"S10.3 a step of another purpose is retried as any other", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("look", "{}"))
			s.asked(second)
			list := s.fail(model.Error{Class: events.ClassOverloaded})
			wants(t, list, "step.failed")
			wants(t, s.tell(due(protocol.TimerName{Kind: protocol.TimerRetry, Step: second.Step, Attempt: 1})), "step.requested")
			lost := chat.AttemptLost{Step: second.Step, Attempt: 2}
			list = s.tell(lost)
			wants(t, list, "step.failed", "step.requested")
			if e := find[events.StepRequested](t, list); e.Purpose != events.PurposeReview || e.Attempt != 3 {
				t.Errorf("asked %+v", e)
			}
		}},
		{"outside of a turn the step's turn is 0, and it holds up nobody", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Text("b"))
			s.asked(aside)
			if w := s.work(); w.Step != aside.Step || w.Purpose != events.PurposeTitle {
				t.Errorf("work %+v", w)
			}
			late := s.ended(&model.Answer{Parts: []events.Part{events.Text("A title")}, Stop: events.StopEnd}, nil)
			wants(t, s.tell(chat.AttemptLost{Step: aside.Step, Attempt: 1}), "step.failed", "step.requested")
			wants(t, s.tell(late))
			if step, attempt, open := s.state.OpenAttempt(); !open || step != aside.Step || attempt != 2 {
				t.Errorf("open is %v %d %v", step, attempt, open)
			}
		}},
		{"what is asked for outside of a turn stays where it was begun", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Text("b"))
			s.asked(aside)
			if owed := chat.Owed(s.state.Inherit()); len(owed) > 0 {
				t.Errorf("another chat owes %+v", owed)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

func TestStepsForNothingAreNotFolded(t *testing.T) {
	t.Parallel()
	step := events.StepID{Turn: 1, Step: 2}
	review := events.StepRequested{Step: step, Purpose: events.PurposeReview, Attempt: 1}
	for wrong, list := range map[string][]events.Event{
		`step 1.2 is requested for "pleasure"`: {events.StepRequested{Step: step, Purpose: "pleasure", Attempt: 1}},
		`step 0.1 is requested for "answer"`:   {events.StepRequested{Step: events.StepID{Step: 1}, Purpose: events.PurposeAnswer, Attempt: 1}},
		"where step 0.1 should be":             {events.StepRequested{Step: events.StepID{Step: 2}, Purpose: events.PurposeTitle, Attempt: 1}},
		"while attempt 1 of step 1.2 is open": {review, events.StepRequested{
			Step: events.StepID{Turn: 1, Step: 3}, Purpose: events.PurposeReview, Attempt: 1,
		}},
		"step 1.2 calls tools": {review, events.StepCompleted{
			Step: step, Attempt: 1, Parts: []events.Part{{Type: events.PartCall, Name: "look", Ordinal: 1}},
		}},
	} {
		s := begin(t)
		s.send("a")
		s.answer(call("look", "{}"))
		c := events.Commit{Key: key, Rev: s.state.Rev() + 1, At: noon, Events: list}
		if got := s.state.Apply(c, "").Wrong(); !strings.Contains(got, wrong) {
			t.Errorf("wrong is %q, want that %q", got, wrong)
		}
	}
}
