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

// sendAs sends a text in a mode and gives the input's id and the events.
func (s *story) sendAs(mode events.SendMode, text string) (string, []events.Event) {
	s.t.Helper()
	return s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text(text)}, Mode: mode})
}

// reads fails unless the model is shown these texts, in this order.
func (s *story) reads(want ...string) {
	s.t.Helper()
	var got []string
	for _, m := range chat.Prompt(s.state).Messages {
		for _, p := range m.Parts {
			if p.Type == events.PartText {
				got = append(got, p.Text)
			}
		}
		for _, r := range m.Results {
			got = append(got, "="+r.Parts[0].Text)
		}
	}
	if !slices.Equal(got, want) {
		s.t.Errorf("the model reads %q, want %q", got, want)
	}
}

// waits fails unless these inputs wait, in this order.
func (s *story) waits(want ...string) {
	s.t.Helper()
	if got := s.state.Waiting(); !slices.Equal(got, want) {
		s.t.Errorf("%v wait, want %v", got, want)
	}
}

// rejects fails unless the command of those events was rejected with the code.
func rejects(t *testing.T, list []events.Event, want events.Code) {
	t.Helper()
	wants(t, list, "command.rejected")
	if got := find[events.CommandRejected](t, list).Code; got != want {
		t.Errorf("code %q, want %q", got, want)
	}
}

func endOf(turn int) chat.TimerDue {
	return due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: turn})
}

func TestS5_1_Queue(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"what waits is taken in order, each a message of its own", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs(events.ModeQueue, "b")
			c, _ := s.sendAs("", "c")
			s.waits(b, c)
			list := s.answer(events.Text("ok"))
			wants(t, list, "step.completed", "turn.completed", "turn.started", "step.requested")
			if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{b, c}) {
				t.Errorf("inputs %v", got)
			}
			s.reads("a", "ok", "b", "c")
		}},
		{"at most 64 wait; the next is rejected and changes nothing, also if it comes to interrupt", func(t *testing.T, s *story) {
			s.send("a")
			for range events.MaxWaitingInputs {
				s.send("more")
			}
			for _, mode := range []events.SendMode{events.ModeQueue, events.ModeSteer, events.ModeInterrupt, events.ModeRollback} {
				_, list := s.sendAs(mode, "too much")
				rejects(t, list, events.CodeQueueFull)
			}
			if s.state.Interrupting() {
				t.Error("a rejected input stops the turn")
			}
			s.answer(events.Text("ok"))
			s.answer(events.Text("ok"))
			s.answers()
		}},
		{"withdrawn inputs are in no turn", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			_, list := s.command(protocol.Withdraw{V: 1, Input: b})
			wants(t, list, "input.withdrawn")
			for _, body := range []protocol.Body{
				protocol.Withdraw{V: 1, Input: b},
				protocol.Promote{V: 1, Input: b},
				protocol.EditInput{V: 1, Input: b, Parts: []events.Part{events.Text("c")}},
			} {
				_, list = s.command(body)
				rejects(t, list, events.CodeUnknownInput)
			}
			wants(t, s.answer(events.Text("ok")), "step.completed", "turn.completed")
		}},
		{"promote: an input becomes the next", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			c, _ := s.sendAs("", "c")
			_, list := s.command(protocol.Promote{V: 1, Input: c})
			wants(t, list, "input.promoted")
			s.waits(c, b)
			_, list = s.command(protocol.Promote{V: 1, Input: c})
			wants(t, list, "command.noted")
			s.answer(events.Text("ok"))
			s.reads("a", "ok", "c", "b")
		}},
		{"promote, interrupting: it goes alone, and at once", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			c, _ := s.sendAs("", "c")
			_, list := s.command(protocol.Promote{V: 1, Input: c, Interrupt: true})
			wants(t, list, "input.promoted", "turn.interrupt_requested")
			_, list = s.command(protocol.Promote{V: 1, Input: c, Interrupt: true})
			wants(t, list, "command.noted")
			list = s.answer(events.Text("half"))
			wants(t, list, "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
			if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{c}) {
				t.Errorf("inputs %v", got)
			}
			s.waits(b)
			s.reads("a", "half", "c")
		}},
		{"promote, interrupting, of a chat in which no turn runs only changes the order", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			c, _ := s.sendAs("", "c")
			s.fail(model.Error{Class: events.ClassAuth})
			_, list := s.command(protocol.Promote{V: 1, Input: c, Interrupt: true})
			wants(t, list, "input.promoted")
			s.waits(c, b)
		}},
		{"edit-input: it says something else, in the same place", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			c, _ := s.sendAs("", "c")
			_, list := s.command(protocol.EditInput{V: 1, Input: b, Parts: []events.Part{events.Text("B\x00")}})
			wants(t, list, "input.edited")
			s.waits(b, c)
			s.answer(events.Text("ok"))
			s.reads("a", "ok", "B"+events.Replacement, "c")
			_, list = s.command(protocol.EditInput{V: 1, Input: b, Parts: []events.Part{events.Text("again")}})
			rejects(t, list, events.CodeUnknownInput) // it is in a turn
		}},
		{"edit-input takes what send takes, and nothing else", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			for _, parts := range [][]events.Part{nil, {{Type: events.PartReasoning, Text: "hm"}}, {{Type: events.PartText, Blob: events.DigestOf(nil)}}} {
				_, list := s.command(protocol.EditInput{V: 1, Input: b, Parts: parts})
				rejects(t, list, events.CodeBadCommand)
			}
		}},
		{"a long text lies apart, also when it is edited in", func(t *testing.T, s *story) {
			s.send("a")
			b, _ := s.sendAs("", "b")
			long := strings.Repeat("long ", events.MaxInlineBytes)
			_, list := s.command(protocol.EditInput{V: 1, Input: b, Parts: []events.Part{events.Text(long)}})
			if p := find[events.InputEdited](t, list).Parts[0]; p.Blob != events.DigestOf([]byte(long)) || p.Text != "" {
				t.Errorf("part %+v", p)
			}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

func TestS5_3_InterruptAndRollback(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name string
		run  func(t *testing.T, s *story)
	}{
		{"interrupt: it goes to the front and stops the turn", func(t *testing.T, s *story) {
			s.send("a")
			q, _ := s.sendAs("", "q")
			i, list := s.sendAs(events.ModeInterrupt, "i")
			wants(t, list, "input.accepted", "input.promoted", "turn.interrupt_requested")
			j, list := s.sendAs(events.ModeInterrupt, "j")
			wants(t, list, "input.accepted", "input.promoted")
			s.waits(i, j, q)
			list = s.answer(events.Text("half"))
			wants(t, list, "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
			if got := find[events.TurnStarted](t, list); !slices.Equal(got.Inputs, []string{i, j}) || got.Parent != 1 {
				t.Errorf("started %+v", got)
			}
			s.waits(q)
			s.reads("a", "half", "i", "j")
		}},
		{"B27 the partial answer stands before the input that interrupts it", func(t *testing.T, s *story) {
			s.send("a")
			s.sendAs(events.ModeInterrupt, "b")
			s.tell(s.interrupted("once upon"))
			s.reads("a", "once upon", "b")
		}},
		{"B27 an answer that was first stays whole, and its input starts a turn", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Text("whole"))
			_, list := s.sendAs(events.ModeInterrupt, "b")
			wants(t, list, "input.accepted", "turn.started", "step.requested")
			s.reads("a", "whole", "b")
		}},
		{"what was not handed out is closed at once", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(call("pay", "{}"), call("pay", "{}"))
			_, list := s.sendAs(events.ModeInterrupt, "b")
			wants(t, list, "input.accepted", "input.promoted", "turn.interrupt_requested", "tool.completed")
		}},
		{"a turn that waits for a retry makes room at once, and the answer names the new one", func(t *testing.T, s *story) {
			s.send("a")
			s.fail(model.Error{Class: events.ClassOverloaded})
			i, list := s.sendAs(events.ModeInterrupt, "b")
			wants(t, list, "input.accepted", "input.promoted", "turn.interrupt_requested", "turn.interrupted", "turn.started", "step.requested")
			if r, _ := s.state.Outcome(i); r.Turn != 2 || r.Input != i {
				t.Errorf("outcome %+v", r)
			}
		}},
		{"the answer to an interrupting input names no turn while it waits", func(t *testing.T, s *story) {
			s.send("a")
			i, _ := s.sendAs(events.ModeInterrupt, "b")
			if r, _ := s.state.Outcome(i); r.Turn != 0 || r.Input != i {
				t.Errorf("outcome %+v", r)
			}
		}},
		{"rollback: the next turn does not know the one that was taken back, and the log keeps it", func(t *testing.T, s *story) {
			s.send("a")
			s.answer(events.Text("first"))
			s.send("b")
			q, _ := s.sendAs("", "q")
			r, list := s.sendAs(events.ModeRollback, "r")
			wants(t, list, "input.accepted", "input.promoted", "turn.interrupt_requested")
			s.waits(r, q)
			list = s.answer(events.Text("half"))
			if got := find[events.TurnStarted](t, list); got.Turn != 3 || got.Parent != 1 {
				t.Errorf("started %+v", got)
			}
			s.reads("a", "first", "r")
			s.answer(events.Text("third"))
			s.reads("a", "first", "r", "third", "q")
			if n := len(every[events.StepInterrupted](s)); n != 1 {
				t.Errorf("the log has %d interrupted steps", n)
			}
		}},
		{"rollback of the first turn begins anew", func(t *testing.T, s *story) {
			s.send("a")
			s.sendAs(events.ModeRollback, "r")
			list := s.answer(events.Text("half"))
			if got := find[events.TurnStarted](t, list); got.Turn != 2 || got.Parent != 0 {
				t.Errorf("started %+v", got)
			}
			s.reads("r")
		}},
		{"rollback goes before what only interrupts: it takes back a turn, no more", func(t *testing.T, s *story) {
			s.send("a")
			i, _ := s.sendAs(events.ModeInterrupt, "i")
			r, _ := s.sendAs(events.ModeRollback, "r")
			s.waits(r, i)
			s.answer()
			s.reads("r")
			s.answer(events.Text("ok"))
			s.reads("r", "ok", "i")
		}},
		{"a rollback that was withdrawn takes nothing back, though the turn ends", func(t *testing.T, s *story) {
			s.send("a")
			r, _ := s.sendAs(events.ModeRollback, "r")
			s.command(protocol.Withdraw{V: 1, Input: r})
			wants(t, s.answer(events.Text("half")), "step.interrupted", "turn.interrupted")
			s.send("b")
			s.reads("a", "half", "b")
		}},
		{"without a turn both only start one", func(t *testing.T, s *story) {
			for n, mode := range []events.SendMode{events.ModeInterrupt, events.ModeRollback} {
				_, list := s.sendAs(mode, "a")
				wants(t, list, "input.accepted", "turn.started", "step.requested")
				if got := find[events.TurnStarted](t, list).Parent; got != n {
					t.Errorf("parent %d", got)
				}
				s.answer(events.Text("ok"))
			}
		}},
		{"reject: a running turn is left alone", func(t *testing.T, s *story) {
			s.send("a")
			_, list := s.sendAs(events.ModeReject, "b")
			rejects(t, list, events.CodeBusy)
			_, list = s.sendAs("later", "b")
			rejects(t, list, events.CodeBadCommand)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.run(t, begin(t))
		})
	}
}

// interrupted is the open attempt, broken off by its worker after it had said a
// text.
func (s *story) interrupted(said string) chat.AttemptEnded {
	s.t.Helper()
	step, attempt, open := s.state.OpenAttempt()
	if !open {
		s.t.Fatal("no attempt is open")
	}
	return chat.AttemptEnded{Step: step, Attempt: attempt, Interrupted: true, Partial: []events.Part{events.Text(said)}}
}

func TestS5_5_AFailedChatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	failed := func(t *testing.T) (s *story, b, c string) {
		s = begin(t)
		s.send("a")
		b, _ = s.sendAs("", "b")
		c, _ = s.sendAs("", "c")
		wants(t, s.fail(model.Error{Class: events.ClassAuth}), "step.failed", "turn.failed")
		s.waits(b, c)
		return s, b, c
	}
	t.Run("nothing but a send or a retry wakes it", func(t *testing.T) {
		t.Parallel()
		s, b, c := failed(t)
		for _, body := range []protocol.Body{
			protocol.Promote{V: 1, Input: c},
			protocol.Promote{V: 1, Input: b, Interrupt: true},
			protocol.EditInput{V: 1, Input: b, Parts: []events.Part{events.Text("B")}},
			protocol.Rename{V: 1, Title: "x"},
			protocol.Configure{V: 1, Settings: events.Settings{System: "x"}},
			protocol.Interrupt{V: 1},
			protocol.Withdraw{V: 1, Input: c},
		} {
			if _, list := s.command(body); slices.Contains(types(list), "turn.started") {
				t.Errorf("%s starts a turn", body.Verb())
			}
		}
		s.waits(b)
	})
	for _, mode := range []events.SendMode{events.ModeQueue, events.ModeReject, events.ModeSteer} {
		t.Run(fmt.Sprintf("a send (%s): the head goes first", mode), func(t *testing.T) {
			t.Parallel()
			s, b, _ := failed(t)
			id, list := s.sendAs(mode, "d")
			if got := find[events.TurnStarted](t, list).Inputs; got[0] != b {
				t.Errorf("inputs %v, want %s first", got, b)
			}
			if r, _ := s.state.Outcome(id); (r.Turn != 0) != (mode != events.ModeReject) {
				t.Errorf("outcome %+v", r)
			}
		})
	}
	t.Run("a retry: its turn first, then the head", func(t *testing.T) {
		t.Parallel()
		s, b, c := failed(t)
		_, list := s.command(protocol.Retry{V: 1})
		wants(t, list, "turn.started", "step.requested")
		s.waits(b, c)
		list = s.answer(events.Text("ok"))
		if got := find[events.TurnStarted](t, list).Inputs; !slices.Equal(got, []string{b, c}) {
			t.Errorf("inputs %v", got)
		}
	})
}
