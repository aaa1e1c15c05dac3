package chat_test

import (
	"fmt"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// Rules: S1.1.4 and S1.1.8.
func TestTurn(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S1.1 a turn with a tool call is four commits", func(t *testing.T, s *story) {
			wants(t, s.send("hi"), "input.accepted", "turn.started", "step.requested")
			wants(t, s.answer(events.Text("let me look"), call("look", "{}")), "step.completed", "tool.requested")
			wants(t, s.bareResult(id(1, 1, 1), events.ToolOK, "found"), "tool.completed", "step.requested")
			wants(t, s.answer(events.Text("there it is")), "step.completed", "turn.completed")
			s.answers()
		}},
		{"S1.1.3 a successful stop-after tool ends the turn", func(t *testing.T, s *story) {
			s.send("hi")
			s.answer(call("done", "{}"))
			list := s.result(id(1, 1, 1), events.ToolOK, "done")
			if f := find[events.TurnCompleted](t, list).Finish; f != events.FinishStopAfterTool {
				t.Fatalf("finish %q", f)
			}
		}},
		{"S1.1.3 a failed stop-after tool does not", func(t *testing.T, s *story) {
			s.send("hi")
			s.answer(call("done", "{}"))
			wants(t, s.result(id(1, 1, 1), events.ToolError, "no"), "tool.completed", "step.requested")
		}},
		{"S1.1.5 the step limit finishes the turn, and continue goes on", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{Limits: &events.Limits{Steps: 1}}})
			s.send("hi")
			s.answer(call("look", "{}"))
			list := s.bareResult(id(1, 1, 1), events.ToolOK, "found")
			if f := find[events.TurnCompleted](t, list).Finish; f != events.FinishMaxSteps {
				t.Fatalf("finish %q", f)
			}
			_, list = s.command(protocol.Continue{V: 1})
			wants(t, list, "turn.started", "step.requested")
		}},
		{"S1.2 a model that paused is asked again", func(t *testing.T, s *story) {
			s.send("hi")
			wants(t, s.stopped(events.StopPaused, events.Text("wait")), "step.completed", "step.requested")
		}},
		{"S1.2 B18 an empty answer completes the turn and is never shown", func(t *testing.T, s *story) {
			s.send("hi")
			if f := find[events.TurnCompleted](t, s.answer()).Finish; f != events.FinishComplete {
				t.Fatalf("finish %q", f)
			}
			s.send(" \u200b\n")
			for _, m := range chat.Prompt(s.state).Messages {
				if m.Role == model.RoleAssistant {
					t.Error("the empty answer is shown")
				}
				if len(m.Parts) == 0 {
					t.Errorf("message of %s without parts", m.Role)
				}
			}
			s.answer(events.Text("\u200b "), call("look", ""))
			list := s.bareResult(id(2, 1, 1), events.ToolOK, "")
			find[events.StepRequested](t, list)
			messages := chat.Prompt(s.state).Messages
			last := messages[len(messages)-1]
			if len(last.Results) != 1 || len(last.Results[0].Parts) != 1 || last.Results[0].Parts[0].Text == "" {
				t.Errorf("an empty result is shown as %+v", last)
			}
			if before := messages[len(messages)-2]; len(before.Parts) != 1 {
				t.Errorf("a text of no width is shown: %+v", before)
			}
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"S1.2 an answer cut by the length limit finishes as length, and continue goes on", func(t *testing.T, s *story) {
			s.send("hi")
			list := s.stopped(events.StopLength, events.Text("once upon"))
			if f := find[events.TurnCompleted](t, list).Finish; f != events.FinishLength {
				t.Fatalf("finish %q", f)
			}
			_, list = s.command(protocol.Continue{V: 1, Turn: 1})
			wants(t, list, "turn.started", "step.requested")
		}},
		{"S1.2 a refusal and a content filter finish as refused", func(t *testing.T, s *story) {
			s.send("hi")
			if f := find[events.TurnCompleted](t, s.stopped(events.StopRefused)).Finish; f != events.FinishRefused {
				t.Fatalf("finish %q", f)
			}
			s.send("hi")
			list := s.fail(model.Error{Class: events.ClassContentFilter, Message: "filtered"})
			wants(t, list, "step.failed", "turn.completed")
			s.answers()
		}},
		{"S1.4 settings are merged and recorded; the body once for each digest", func(t *testing.T, s *story) {
			s.command(protocol.Configure{V: 1, Settings: events.Settings{System: "be brief"}})
			first := find[events.TurnStarted](t, s.send("a"))
			if first.Settings.Body == nil || first.Settings.Body.System != "be brief" || first.Settings.Body.Model != "m" {
				t.Fatalf("settings %+v", first.Settings)
			}
			s.answer(events.Text("ok"))
			second := find[events.TurnStarted](t, s.send("b"))
			if second.Settings.Digest != first.Settings.Digest || second.Settings.Body != nil {
				t.Fatalf("settings %+v", second.Settings)
			}
		}},
		{"S1.5 a turn's end and the next queued input are one commit", func(t *testing.T, s *story) {
			s.send("a")
			wants(t, s.send("b"), "input.accepted")
			wants(t, s.send("c"), "input.accepted")
			list := s.answer(events.Text("ok"))
			wants(t, list, "step.completed", "turn.completed", "turn.started", "step.requested")
			if n := len(find[events.TurnStarted](t, list).Inputs); n != 2 {
				t.Errorf("%d inputs taken, want both", n)
			}
		}},
		{"S1.6 S1.7 a failed turn keeps what waits until somebody sends", func(t *testing.T, s *story) {
			s.send("a")
			waiting, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}})
			list := s.fail(model.Error{Class: events.ClassAuth, Message: "bad\nkey"})
			wants(t, list, "step.failed", "turn.failed")
			if m := find[events.TurnFailed](t, list).Message; m != "bad key" {
				t.Errorf("message %q", m)
			}
			list = s.send("c")
			if first := find[events.TurnStarted](t, list).Inputs[0]; first != waiting {
				t.Errorf("first input %s, want the one that waited", first)
			}
		}},
		{"S1.7 retry asks the failed step again with the same history", func(t *testing.T, s *story) {
			s.send("a")
			before := find[events.StepRequested](t, s.log[1].Events)
			s.fail(model.Error{Class: events.ClassAuth})
			_, list := s.command(protocol.Retry{V: 1, Turn: 1})
			if again := find[events.StepRequested](t, list); again.Prompt != before.Prompt {
				t.Error("the model is shown something else")
			}
			_, list = s.command(protocol.Retry{V: 1})
			if c := find[events.CommandRejected](t, list).Code; c != events.CodeNotIdle {
				t.Errorf("code %q", c)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

func TestInputWhileBusy(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"S5.1 the 65th waiting input is rejected", func(t *testing.T, s *story) {
			s.send("first")
			for i := range events.MaxWaitingInputs {
				wants(t, s.send(fmt.Sprint(i)), "input.accepted")
			}
			if c := find[events.CommandRejected](t, s.send("one more")).Code; c != events.CodeQueueFull {
				t.Errorf("code %q", c)
			}
		}},
		{"S5.1 a waiting input can be withdrawn, once", func(t *testing.T, s *story) {
			s.send("first")
			waiting, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}})
			_, list := s.command(protocol.Withdraw{V: 1, Input: waiting})
			wants(t, list, "input.withdrawn")
			_, list = s.command(protocol.Withdraw{V: 1, Input: waiting})
			if c := find[events.CommandRejected](t, list).Code; c != events.CodeUnknownInput {
				t.Errorf("code %q", c)
			}
			wants(t, s.answer(events.Text("ok")), "step.completed", "turn.completed")
		}},
		{"S5 reject means not now", func(t *testing.T, s *story) {
			s.send("first")
			_, list := s.command(protocol.Send{V: 1, Mode: events.ModeReject, Parts: []events.Part{events.Text("b")}})
			if c := find[events.CommandRejected](t, list).Code; c != events.CodeBusy {
				t.Errorf("code %q", c)
			}
		}},
		{"S12 a send unarchives in its commit", func(t *testing.T, s *story) {
			s.command(protocol.Archive{V: 1})
			_, list := s.command(protocol.Archive{V: 1})
			wants(t, list, "command.noted")
			wants(t, s.send("a"), "input.accepted", "chat.unarchived", "turn.started", "step.requested")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

func TestCommandsAreDecidedOnce(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.seq++
	c := chat.Command{ID: "again", Sequence: s.seq, Body: protocol.Rename{V: 1, Title: "one"}}
	wants(t, s.tell(c), "chat.titled")
	wants(t, s.tell(c))
	if r, ok := s.state.Outcome("again"); !ok || !r.OK || r.Rev != 2 {
		t.Errorf("outcome %+v, %v", r, ok)
	}
	for i := range 300 {
		s.command(protocol.Rename{V: 1, Title: fmt.Sprint(i)})
	}
	if _, ok := s.state.Outcome("again"); ok {
		t.Error("the ring remembers more than 256 commands")
	}
	wants(t, s.tell(c)) // forgotten, and still not decided again
}

func TestCommandStoredBeforeItsChatWasCreated(t *testing.T) {
	t.Parallel()
	create := chat.Command{ID: "create", Sequence: 10, Body: protocol.Create{V: 1}}
	commit := events.Commit{
		Key: events.Key{Tenant: "default", Chat: "c"}, Rev: 1, At: noon, Cause: chat.CauseOf(create),
		Events: chat.Handle(chat.State{}, create, noon, live()).Events,
	}
	s := chat.State{}.Apply(commit, "hash")
	early := chat.Handle(s, chat.Command{ID: "early", Sequence: 9, Body: protocol.Rename{V: 1, Title: "two"}}, noon, live())
	if early.Refused == nil || early.Refused.Code != events.CodeUnknownChat || len(early.Events) != 0 {
		t.Errorf("decision %+v", early)
	}
	late := chat.Handle(s, chat.Command{ID: "late", Sequence: 11, Body: protocol.Rename{V: 1, Title: "two"}}, noon, live())
	if late.Refused != nil || len(late.Events) != 1 {
		t.Errorf("decision %+v", late)
	}
}

func TestCommandForNoChat(t *testing.T) {
	t.Parallel()
	d := chat.Handle(chat.State{}, chat.Command{ID: "a", Body: protocol.Send{V: 1}}, noon, live())
	if d.Refused == nil || d.Refused.Code != events.CodeUnknownChat || len(d.Events) != 0 {
		t.Errorf("decision %+v", d)
	}
}
