package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// thirdRuns is a chat with two answered turns, and a third one that runs.
func thirdRuns(t *testing.T) *story {
	s := twoTurns(t)
	s.send("c")
	return s
}

// starts fails unless a turn with that number and that parent starts with those
// inputs.
func starts(t *testing.T, list []events.Event, number, parent int, inputs ...string) {
	t.Helper()
	e := find[events.TurnStarted](t, list)
	if e.Turn != number || e.Parent != parent || len(inputs) > 0 && !slices.Equal(e.Inputs, inputs) {
		t.Errorf("turn %d follows turn %d with %v, want %d behind %d with %v", e.Turn, e.Parent, e.Inputs, number, parent, inputs)
	}
}

func TestS13_ARollbackDoesNotUndoTheChoiceOfABranch(t *testing.T) {
	t.Parallel()
	t.Run("of a turn", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		s.command(protocol.SelectBranch{V: 1, Turn: 1})
		r, _ := s.sendAs(events.ModeRollback, "r")
		starts(t, s.tell(endOf(3)), 4, 1, r)
		s.reads("a", "A", "r")
		s.answer(events.Text("R"))
		s.answers()
	})
	t.Run("of another answer: it takes back that one, which was due", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		s.command(protocol.Regenerate{V: 1, Turn: 2})
		r, list := s.sendAs(events.ModeRollback, "r")
		wants(t, list, "input.accepted", "input.promoted", "branch.selected")
		if reply, _ := s.state.Outcome(r); reply.Turn != 0 || reply.Input != r {
			t.Errorf("outcome %+v", reply)
		}
		s.state = reloaded(t, s.state)
		starts(t, s.tell(endOf(3)), 4, 1, r)
		s.reads("a", "A", "r")
		s.answer(events.Text("R"))
		s.answers()
	})
}

func TestS5_3_ARollbackOutlivesAnEditThatIsWithdrawn(t *testing.T) {
	t.Parallel()
	s := thirdRuns(t)
	r, _ := s.sendAs(events.ModeRollback, "r")
	e, _ := s.command(edit(1, "x"))
	s.command(protocol.Withdraw{V: 1, Input: e})
	s.state = reloaded(t, s.state)
	starts(t, s.tell(endOf(3)), 4, 2, r)
	s.reads("a", "A", "b", "B", "r")
	s.answer(events.Text("R"))
	s.answers()
}

func TestS5_3_ARollbackFollowsABranchThatWasChosenSince(t *testing.T) {
	t.Parallel()
	s := thirdRuns(t)
	r, _ := s.sendAs(events.ModeRollback, "r")
	s.command(protocol.SelectBranch{V: 1, Turn: 1})
	again, _ := s.sendAs(events.ModeRollback, "r2")
	starts(t, s.tell(endOf(3)), 4, 1, r, again)
}

func TestS5_3_WhatIsPutInFrontOfARollbackTakesTheTurnBack(t *testing.T) {
	t.Parallel()
	s := thirdRuns(t)
	p, _ := s.sendAs("", "p")
	r, _ := s.sendAs(events.ModeRollback, "r")
	s.command(protocol.Promote{V: 1, Input: p})
	s.waits(p, r)
	starts(t, s.tell(endOf(3)), 4, 2, p)
	s.reads("a", "A", "b", "B", "p")
	starts(t, s.answer(events.Text("P")), 5, 4, r)
	s.reads("a", "A", "b", "B", "p", "P", "r")
	s.answer(events.Text("R"))
	s.answers()
}

func TestS5_3_WhoeverStopsTheChatStopsWhatIsDue(t *testing.T) {
	t.Parallel()
	t.Run("an input that interrupts: an edit is read before it", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		later, _ := s.sendAs("", "later")
		e, _ := s.command(edit(3, "x"))
		now, list := s.sendAs(events.ModeInterrupt, "now")
		wants(t, list, "input.accepted", "input.promoted")
		if reply, _ := s.state.Outcome(now); reply.Turn != 0 || reply.Input != now {
			t.Errorf("outcome %+v", reply)
		}
		starts(t, s.tell(endOf(3)), 4, 2, e, now)
		s.reads("a", "A", "b", "B", "x", "now")
		starts(t, s.answer(events.Text("N")), 5, 4, later)
		s.answer(events.Text("L"))
		s.answers()
	})
	t.Run("an input that waits and is promoted: an edit is read before it", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		now, _ := s.sendAs("", "now")
		e, _ := s.command(edit(3, "x"))
		promote := protocol.Promote{V: 1, Input: now, Interrupt: true}
		_, list := s.command(promote)
		wants(t, list, "input.promoted")
		_, list = s.command(promote)
		wants(t, list, "command.noted")
		starts(t, s.tell(endOf(3)), 4, 2, e, now)
		s.reads("a", "A", "b", "B", "x", "now")
	})
	t.Run("one that was sent to take the turn back takes back the edit when it is promoted", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		back, _ := s.sendAs(events.ModeRollback, "back")
		e, _ := s.command(edit(3, "x"))
		_, list := s.command(protocol.Promote{V: 1, Input: back, Interrupt: true})
		if w := find[events.InputWithdrawn](t, list); w.Input != e {
			t.Errorf("withdrawn %+v", w)
		}
		starts(t, s.tell(endOf(3)), 4, 2, back)
	})
	t.Run("unless it is withdrawn", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		e, _ := s.command(edit(3, "x"))
		now, _ := s.sendAs(events.ModeInterrupt, "now")
		s.command(protocol.Withdraw{V: 1, Input: now})
		starts(t, s.tell(endOf(3)), 4, 2, e)
	})
	t.Run("or the edit is", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		e, _ := s.command(edit(3, "x"))
		now, _ := s.sendAs(events.ModeInterrupt, "now")
		s.command(protocol.Withdraw{V: 1, Input: e})
		starts(t, s.tell(endOf(3)), 4, 3, now)
		s.reads("a", "A", "b", "B", "c", "now")
	})
	t.Run("an input that takes the turn back takes back the edit", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		e, _ := s.command(edit(3, "x"))
		back, list := s.sendAs(events.ModeRollback, "back")
		wants(t, list, "input.accepted", "input.promoted", "input.withdrawn", "branch.selected")
		if w := find[events.InputWithdrawn](t, list); w.Input != e {
			t.Errorf("withdrawn %+v", w)
		}
		starts(t, s.tell(endOf(3)), 4, 2, back)
		s.reads("a", "A", "b", "B", "back")
	})
	t.Run("S6.1 a person who names the turn that is due", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		id, _ := s.command(protocol.Regenerate{V: 1, Turn: 1})
		if reply, _ := s.state.Outcome(id); reply.Turn != 4 {
			t.Fatalf("outcome %+v", reply)
		}
		_, list := s.command(protocol.Interrupt{V: 1, Turn: 4})
		wants(t, list, "branch.selected")
		refusal(t, s, protocol.Interrupt{V: 1, Turn: 4}, events.CodeUnknownTurn, "") // nothing is due any more
		wants(t, s.tell(s.interrupted("C")), "step.interrupted", "turn.interrupted")
		s.answers()
	})
	t.Run("an input that is promoted to interrupt", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		first, _ := s.sendAs(events.ModeInterrupt, "first")
		s.command(protocol.Regenerate{V: 1, Turn: 1})
		_, list := s.command(protocol.Promote{V: 1, Input: first, Interrupt: true})
		wants(t, list, "input.promoted", "branch.selected")
		starts(t, s.tell(endOf(3)), 4, 3, first)
	})
	t.Run("an edit is no less due if it is promoted", func(t *testing.T) {
		t.Parallel()
		s := thirdRuns(t)
		e, _ := s.command(edit(3, "x"))
		_, list := s.command(protocol.Promote{V: 1, Input: e, Interrupt: true})
		wants(t, list, "command.noted")
		starts(t, s.tell(endOf(3)), 4, 2, e)
	})
	for _, body := range []protocol.Body{edit(3, "x"), protocol.Regenerate{V: 1, Turn: 1}} {
		t.Run("S6.1 a person, after "+string(body.Verb()), func(t *testing.T) {
			t.Parallel()
			s := thirdRuns(t)
			s.command(body)
			id, list := s.command(protocol.Interrupt{V: 1, Turn: 3})
			if b := find[events.BranchSelected](t, list); b.Turn != 3 || b.Again != 0 {
				t.Errorf("selected %+v", b)
			}
			if reply, _ := s.state.Outcome(id); reply.Turn != 3 {
				t.Errorf("outcome %+v", reply)
			}
			_, list = s.command(protocol.Interrupt{V: 1, Turn: 3})
			wants(t, list, "command.noted")
			wants(t, s.tell(s.interrupted("C")), "step.interrupted", "turn.interrupted")
			s.reads("a", "A", "b", "B", "c", "C")
			s.answers()
		})
	}
}

func TestS13_WhatAnEditWishesForCountsWhereverItStands(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("a")
	wish := func(system string) *events.Settings { return &events.Settings{System: system} }
	s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}, Settings: wish("first")})
	second, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("c")}, Settings: wish("ignored")})
	s.answer(events.Text("A"))
	s.answer(events.Text("B"))
	system := func(want string) {
		t.Helper()
		if got, _ := s.state.Effective(); got.System != want {
			t.Errorf("system %q, want %q", got.System, want)
		}
	}
	s.command(protocol.Edit{V: 1, Input: second, Parts: []events.Part{events.Text("d")}})
	system("first")
	s.answer(events.Text("D"))
	s.command(protocol.Edit{V: 1, Turn: 2, Input: second, Parts: []events.Part{events.Text("e")}, Settings: wish("edit")})
	system("edit")
	s.fail(model.Error{Class: events.ClassAuth})
	s.command(protocol.Retry{V: 1})
	system("edit")
	s.answer(events.Text("E"))
	s.command(protocol.Regenerate{V: 1, Turn: 4})
	system("edit")
	s.answer(events.Text("E2"))
	s.answers()
}

func TestS5_5_WhatWaitsInAFailedChatGoesOnFromAnotherTurn(t *testing.T) {
	t.Parallel()
	failed := func(t *testing.T) (*story, string) {
		s := thirdRuns(t)
		w, _ := s.sendAs("", "w")
		s.fail(model.Error{Class: events.ClassAuth})
		return s, w
	}
	t.Run("that is selected", func(t *testing.T) {
		t.Parallel()
		s, w := failed(t)
		_, list := s.command(protocol.SelectBranch{V: 1, Turn: 2})
		wants(t, list, "branch.selected", "turn.started", "step.requested")
		starts(t, list, 4, 2, w)
		s.answer(events.Text("W"))
		s.answers()
	})
	t.Run("unless it failed, too", func(t *testing.T) {
		t.Parallel()
		s := twoTurns(t)
		s.send("c")
		s.fail(model.Error{Class: events.ClassAuth})
		s.command(edit(1, "x"))
		w, _ := s.sendAs("", "w")
		s.fail(model.Error{Class: events.ClassAuth})
		_, list := s.command(protocol.SelectBranch{V: 1, Turn: 3})
		wants(t, list, "branch.selected")
		s.waits(w)
		_, list = s.command(protocol.Retry{V: 1})
		starts(t, list, 5, 3)
		starts(t, s.answer(events.Text("C")), 6, 5, w)
		s.answer(events.Text("W"))
		s.answers()
	})
}
