package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func TestS13_ARunningTurnOnTheOldBranchIsInterruptedFirst(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		body  protocol.Body
		wants []string
		then  string // what the model reads next
		told  int    // the turn in the outcome
	}{
		{"edit", edit(2, "c"), []string{"input.accepted", "branch.selected", "turn.interrupt_requested"}, "a A c", 0},
		{"edit of an earlier turn", edit(1, "c"), []string{"input.accepted", "branch.selected", "turn.interrupt_requested"}, "c", 0},
		{"regenerate", protocol.Regenerate{V: 1, Turn: 2}, []string{"branch.selected", "turn.interrupt_requested"}, "a A b", 3},
		{"regenerate an earlier turn", protocol.Regenerate{V: 1, Turn: 1}, []string{"branch.selected", "turn.interrupt_requested"}, "a", 3},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.send("a")
			s.answer(events.Text("A"))
			s.send("b")
			waiting, _ := s.command(protocol.Send{V: 1, Parts: []events.Part{events.Text("w")}})
			id, list := s.command(tt.body)
			wants(t, list, tt.wants...)
			if r, _ := s.state.Outcome(id); r.Turn != tt.told {
				t.Errorf("outcome %+v", r)
			}
			if e := find[events.TurnInterruptRequested](t, list); e.Turn != 2 || e.Reason != events.ReasonOtherBranch {
				t.Errorf("interrupted %+v", e)
			}
			s.state = reloaded(t, s.state) // whoever takes over knows as much
			wants(t, s.tell(s.interrupted("B")), "step.interrupted", "turn.interrupted", "turn.started", "step.requested")
			if got := shown(s.state); got != tt.then {
				t.Errorf("the model reads %q, want %q", got, tt.then)
			}
			e := find[events.TurnStarted](t, s.answer(events.Text("C")))
			if !slices.Equal(e.Inputs, []string{waiting}) || shown(s.state) != tt.then+" C w" {
				t.Errorf("what waited: %+v; the model reads %q", e, shown(s.state))
			}
			s.answer(events.Text("W"))
			s.command(protocol.SelectBranch{V: 1, Turn: 2})
			if got := shown(s.state); got != "a A b B" {
				t.Errorf("of the branch that was left the model reads %q", got)
			}
			s.answers()
		})
	}
	t.Run("select-branch", func(t *testing.T) {
		t.Parallel()
		s := twoTurns(t)
		s.send("c")
		_, list := s.command(protocol.SelectBranch{V: 1, Turn: 1})
		wants(t, list, "branch.selected", "turn.interrupt_requested")
		wants(t, s.tell(s.interrupted("C")), "step.interrupted", "turn.interrupted")
		if got := shown(s.state); got != "a A" {
			t.Errorf("the model reads %q", got)
		}
		s.answers()
	})
	t.Run("one that is being interrupted is not asked again", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		s.command(protocol.Interrupt{V: 1})
		_, list := s.command(edit(1, "b"))
		wants(t, list, "input.accepted", "branch.selected")
		s.tell(s.interrupted("A"))
		if got := shown(s.state); got != "b" {
			t.Errorf("the model reads %q", got)
		}
	})
	t.Run("calls that were not handed out are closed, the others settled", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		s.answer(call("pay", "{}"), call("pay", "{}"))
		s.tell(claim(id(1, 1, 1), "claim", 1))
		_, list := s.command(edit(1, "b"))
		wants(t, list, "input.accepted", "branch.selected", "turn.interrupt_requested", "tool.completed")
		list = s.tell(due(protocol.TimerName{Kind: protocol.TimerEnd, Turn: 1}))
		wants(t, list, "tool.completed", "turn.interrupted", "turn.started", "step.requested")
		if c := find[events.ToolCompleted](t, list); c.Status != events.ToolUnknown {
			t.Errorf("a call that may have had its effect is %s", c.Status)
		}
		s.answer(events.Text("B"))
		s.answers()
	})
}

func TestS13_ALaterChoiceOfABranchTakesThePlaceOfOneThatIsDue(t *testing.T) {
	t.Parallel()

	running := func(t *testing.T) (*story, string) {
		s := begin(t)
		s.send("a")
		s.answer(events.Text("A"))
		s.send("b")
		first, _ := s.command(edit(2, "c"))
		return s, first
	}
	t.Run("a second edit", func(t *testing.T) {
		t.Parallel()
		s, first := running(t)
		_, list := s.command(edit(1, "d"))
		wants(t, list, "input.accepted", "input.withdrawn", "branch.selected")
		if e := find[events.InputWithdrawn](t, list); e.Input != first {
			t.Errorf("withdrawn %+v", e)
		}
		s.tell(s.interrupted("B"))
		if got := shown(s.state); got != "d" {
			t.Errorf("the model reads %q", got)
		}
		s.answer(events.Text("D"))
		s.answers()
	})
	t.Run("regenerate", func(t *testing.T) {
		t.Parallel()
		s, _ := running(t)
		_, list := s.command(protocol.Regenerate{V: 1, Turn: 2})
		wants(t, list, "input.withdrawn", "branch.selected")
		s.tell(s.interrupted("B"))
		if got := shown(s.state); got != "a A b" {
			t.Errorf("the model reads %q", got)
		}
	})
	t.Run("going back to the turn that is being interrupted", func(t *testing.T) {
		t.Parallel()
		s, _ := running(t)
		_, list := s.command(protocol.SelectBranch{V: 1, Turn: 2})
		wants(t, list, "input.withdrawn", "branch.selected")
		wants(t, s.tell(s.interrupted("B")), "step.interrupted", "turn.interrupted")
		if got := shown(s.state); got != "a A b B" {
			t.Errorf("the model reads %q", got)
		}
		s.answers()
	})
	t.Run("an edit that is withdrawn leaves the chat where it was", func(t *testing.T) {
		t.Parallel()
		s, first := running(t)
		_, list := s.command(protocol.Withdraw{V: 1, Input: first})
		wants(t, list, "input.withdrawn", "branch.selected")
		wants(t, s.tell(s.interrupted("B")), "step.interrupted", "turn.interrupted")
		if got := shown(s.state); got != "a A b B" {
			t.Errorf("the model reads %q", got)
		}
		s.answers()
	})
	t.Run("a fork made meanwhile goes on from the turn that ran", func(t *testing.T) {
		t.Parallel()
		s, _ := running(t)
		raw := []byte{}
		for _, c := range s.log {
			b, err := events.Encode(c)
			if err != nil {
				t.Fatal(err)
			}
			raw = append(append(raw, b...), '\n')
		}
		h, err := chat.ReadHistory(raw)
		if err != nil {
			t.Fatal(err)
		}
		fork := &story{t: t, at: noon, state: h.State}
		list := fork.tell(chat.Command{ID: "fork", Sequence: 1, Body: protocol.Fork{V: 1, Chat: "c1"}, History: h})
		wants(t, list, "chat.created", "step.interrupted", "turn.interrupted", "input.withdrawn")
		if got := shown(fork.state); got != "a A b" {
			t.Errorf("the model reads %q", got)
		}
		fork.seq = s.seq // the ids of its inputs are no others'
		fork.answers()
	})
}
