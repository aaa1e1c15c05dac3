package chat_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

func edit(turn int, text string) protocol.Edit {
	return protocol.Edit{V: 1, Turn: turn, Parts: []events.Part{events.Text(text)}}
}

// code is why a command was rejected.
func code(t *testing.T, list []events.Event) events.Code {
	t.Helper()
	return find[events.CommandRejected](t, list).Code
}

// twoTurns is a chat with two answered turns.
func twoTurns(t *testing.T) *story {
	s := begin(t)
	s.send("a")
	s.answer(events.Text("A"))
	s.send("b")
	s.answer(events.Text("B"))
	return s
}

func TestS13_EditReplacesAUserInputByASiblingTurnWithTheSameParent(t *testing.T) {
	t.Parallel()

	t.Run("of the last turn", func(t *testing.T) {
		t.Parallel()
		s := twoTurns(t)
		id, list := s.command(edit(2, "c"))
		wants(t, list, "input.accepted", "branch.selected", "turn.started", "step.requested")
		e := find[events.TurnStarted](t, list)
		if e.Turn != 3 || e.Parent != 1 || e.Again != 2 || e.Cause != events.CauseEdit || !slices.Equal(e.Inputs, []string{id}) {
			t.Errorf("started %+v", e)
		}
		if got := shown(s.state); got != "a A c" {
			t.Errorf("the model reads %q", got)
		}
		if r, _ := s.state.Outcome(id); r.Turn != 3 || r.Input != id {
			t.Errorf("outcome %+v", r)
		}
		s.answer(events.Text("C"))
		s.answers()
	})
	t.Run("of the first turn, and nothing is left of what followed", func(t *testing.T) {
		t.Parallel()
		s := twoTurns(t)
		s.command(edit(1, "c"))
		if got := shown(s.state); got != "c" {
			t.Errorf("the model reads %q", got)
		}
		s.answer(events.Text("C"))
		if e := find[events.TurnStarted](t, s.send("d")); e.Parent != 3 || shown(s.state) != "c C d" {
			t.Errorf("turn %d follows turn %d; the model reads %q", e.Turn, e.Parent, shown(s.state))
		}
	})
	t.Run("of an input, named by its id", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		first, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}, Settings: &events.Settings{System: "wish"}})
		second, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("c")}})
		s.answer(events.Text("A")) // both are taken
		s.answer(events.Text("B"))
		id, list := s.command(protocol.Edit{V: 1, Input: second, Parts: []events.Part{events.Text("d")}})
		e := find[events.TurnStarted](t, list)
		if e.Parent != 1 || e.Again != 2 || !slices.Equal(e.Inputs, []string{first, id}) {
			t.Errorf("started %+v", e)
		}
		if got := shown(s.state); got != "a A b d" {
			t.Errorf("the model reads %q", got)
		}
		if got, _ := s.state.Effective(); got.System != "wish" {
			t.Errorf("what was wished for the turn is gone: %+v", got)
		}
		s.answer(events.Text("D"))
		s.command(protocol.Edit{V: 1, Turn: 2, Parts: []events.Part{events.Text("e")}})
		if got := shown(s.state); got != "a A e" {
			t.Errorf("without an input all of them are replaced, and the model reads %q", got)
		}
	})
	t.Run("of a failed turn, before what waits there", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		waiting, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}})
		s.fail(model.Error{Class: events.ClassAuth})
		s.command(edit(1, "c"))
		if got := shown(s.state); got != "c" {
			t.Errorf("the model reads %q", got)
		}
		e := find[events.TurnStarted](t, s.answer(events.Text("C")))
		if !slices.Equal(e.Inputs, []string{waiting}) || e.Parent != 2 || shown(s.state) != "c C b" {
			t.Errorf("then %+v, and the model reads %q", e, shown(s.state))
		}
	})
	t.Run("what cannot be edited is rejected", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		_, list := s.command(edit(0, "x"))
		if c := code(t, list); c != events.CodeUnknownTurn {
			t.Errorf("no turn: %s", c)
		}
		s.send("a")
		waiting, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("b")}})
		for _, tt := range []struct {
			body protocol.Edit
			want events.Code
		}{
			{edit(2, "x"), events.CodeUnknownTurn},
			{edit(-1, "x"), events.CodeUnknownTurn},
			{protocol.Edit{V: 1, Input: "nobody's", Parts: edit(1, "x").Parts}, events.CodeUnknownInput},
			{protocol.Edit{V: 1, Input: waiting, Parts: edit(1, "x").Parts}, events.CodeUnknownInput},
			{protocol.Edit{V: 1, Turn: 1, Input: "nobody's", Parts: edit(1, "x").Parts}, events.CodeUnknownInput},
			{protocol.Edit{V: 1, Turn: 1}, events.CodeBadCommand},
			{protocol.Edit{V: 1, Turn: 1, Parts: edit(1, "x").Parts, Settings: &events.Settings{Approval: "no"}}, events.CodeInvalidSettings},
		} {
			_, list := s.command(tt.body)
			wants(t, list, "command.rejected")
			if c := code(t, list); c != tt.want {
				t.Errorf("%+v: %s, want %s", tt.body, c, tt.want)
			}
		}
		s.fail(model.Error{Class: events.ClassAuth})
		s.command(protocol.Retry{V: 1})
		_, list = s.command(edit(2, "x"))
		if c := code(t, list); c != events.CodeUnknownInput {
			t.Errorf("a turn without input: %s", c)
		}
	})
}

func TestS13_RegenerateStartsASiblingWithTheSameInput(t *testing.T) {
	t.Parallel()

	s := twoTurns(t)
	before := find[events.TurnStarted](t, s.log[3].Events)
	asked := find[events.StepRequested](t, s.log[3].Events)
	id, list := s.command(protocol.Regenerate{V: 1})
	wants(t, list, "branch.selected", "turn.started", "step.requested")
	e := find[events.TurnStarted](t, list)
	if e.Turn != 3 || e.Parent != 1 || e.Again != 2 || e.Cause != events.CauseRegenerate || !slices.Equal(e.Inputs, before.Inputs) {
		t.Errorf("started %+v", e)
	}
	if again := find[events.StepRequested](t, list); again.Prompt != asked.Prompt {
		t.Error("the model is shown something else than the first time")
	}
	if r, _ := s.state.Outcome(id); r.Turn != 3 {
		t.Errorf("outcome %+v", r)
	}
	s.answer(events.Text("B2"))
	if got := shown(s.state); got != "a A b B2" {
		t.Errorf("the model reads %q", got)
	}
	// And once more, beside the one that was itself beside another.
	_, list = s.command(protocol.Regenerate{V: 1, Turn: 3})
	if e := find[events.TurnStarted](t, list); e.Parent != 1 || !slices.Equal(e.Inputs, before.Inputs) {
		t.Errorf("started %+v", e)
	}
	s.answer(events.Text("B3"))
	s.answers()
}

func TestS13_SelectBranchMovesTheTip(t *testing.T) {
	t.Parallel()

	s := twoTurns(t)
	s.command(edit(2, "c"))
	s.answer(events.Text("C"))
	id, list := s.command(protocol.SelectBranch{V: 1, Turn: 2})
	wants(t, list, "branch.selected")
	if r, _ := s.state.Outcome(id); r.Turn != 2 {
		t.Errorf("outcome %+v", r)
	}
	if got := shown(s.state); got != "a A b B" {
		t.Errorf("the model reads %q", got)
	}
	_, list = s.command(protocol.SelectBranch{V: 1, Turn: 2})
	wants(t, list, "command.noted")
	for _, turn := range []int{0, 4, -1} {
		_, list = s.command(protocol.SelectBranch{V: 1, Turn: turn})
		if c := code(t, list); c != events.CodeUnknownTurn {
			t.Errorf("turn %d: %s", turn, c)
		}
	}
	if e := find[events.TurnStarted](t, s.send("d")); e.Turn != 4 || e.Parent != 2 || shown(s.state) != "a A b B d" {
		t.Errorf("turn %d follows turn %d; the model reads %q", e.Turn, e.Parent, shown(s.state))
	}
	s.answer(events.Text("D"))
	s.command(protocol.SelectBranch{V: 1, Turn: 3})
	if got := shown(s.state); got != "a A c C" {
		t.Errorf("the model reads %q", got)
	}
	s.answers()
}

// The settings of an old turn may be forgotten; a model that is shown its branch
// still has a name.
func TestS13_ABranchMayBeOlderThanTheSettingsThatAreRemembered(t *testing.T) {
	t.Parallel()
	s := begin(t)
	for n := range 10 {
		s.command(protocol.Configure{V: 1, Settings: events.Settings{System: fmt.Sprint(n)}})
		s.send("a")
		s.answer(events.Text("A"))
	}
	s.command(protocol.SelectBranch{V: 1, Turn: 1})
	if r := chat.Prompt(s.state); r.Model != "m" || r.System != "9" || len(r.Messages) != 2 {
		t.Errorf("the model of the old branch: %+v", r)
	}
	s.answers()
}

func TestS13_ContinueAndRetryGoOnWithTheSelectedBranch(t *testing.T) {
	t.Parallel()

	s := begin(t)
	s.send("a")
	s.stopped(events.StopLength, events.Text("A"))
	s.command(edit(1, "b"))
	s.fail(model.Error{Class: events.ClassAuth})
	_, list := s.command(protocol.Continue{V: 1})
	if c := code(t, list); c != events.CodeAlreadyFinished {
		t.Errorf("a failed turn is continued: %s", c)
	}
	s.command(protocol.SelectBranch{V: 1, Turn: 1})
	_, list = s.command(protocol.Retry{V: 1})
	if c := code(t, list); c != events.CodeAlreadyFinished {
		t.Errorf("a turn that did not fail is retried: %s", c)
	}
	_, list = s.command(protocol.Continue{V: 1})
	if e := find[events.TurnStarted](t, list); e.Parent != 1 || e.Turn != 3 || shown(s.state) != "a A" {
		t.Errorf("started %+v; the model reads %q", e, shown(s.state))
	}
	s.answer(events.Text("A2"))
	s.command(protocol.SelectBranch{V: 1, Turn: 2})
	_, list = s.command(protocol.Retry{V: 1, Turn: 2})
	if e := find[events.TurnStarted](t, list); e.Parent != 2 || shown(s.state) != "b" {
		t.Errorf("started %+v; the model reads %q", e, shown(s.state))
	}
	s.answer(events.Text("B"))
	s.answers()
}

func TestS13_TheQueueLimitHoldsForEdits(t *testing.T) {
	t.Parallel()
	s := begin(t)
	s.send("first")
	for range events.MaxWaitingInputs {
		s.send("more")
	}
	_, list := s.command(edit(1, "x"))
	if c := code(t, list); c != events.CodeQueueFull {
		t.Errorf("code %q", c)
	}
}
