package chat_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func TestModes(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name  string
		mode  events.ApprovalMode
		calls []string
		wait  int
	}{
		{"S7.1 ask: every call that is not read-only", events.ApprovalAsk, []string{"look", "pay", "ask", "save"}, 3},
		{"S7.1 auto: what the policy says", events.ApprovalAuto, []string{"look", "pay", "ask", "save"}, 1},
		{"S7.1 full: nothing", events.ApprovalFull, []string{"look", "pay", "ask", "save"}, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := begin(t)
			s.command(protocol.SetMode{V: 1, Approval: tt.mode})
			s.send("a")
			var calls []events.Part
			for _, name := range tt.calls {
				calls = append(calls, call(name, "{}"))
			}
			s.answer(calls...)
			for _, r := range every[events.ApprovalRequested](s) {
				if r.Mode != tt.mode {
					t.Errorf("%s was judged in mode %s", r.Call, r.Mode)
				}
			}
			if n := len(s.state.AwaitingApproval()); n != tt.wait {
				t.Errorf("%d calls wait, want %d", n, tt.wait)
			}
		})
	}
	t.Run("S4.2 invalid arguments never ask", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		wants(t, s.answer(call("ask", `{"path":3}`)), "step.completed", "tool.completed", "step.requested")
	})
	t.Run("an unknown mode is turned down, the same one is noted", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		refusal(t, s, protocol.SetMode{V: 1, Approval: "yolo"}, events.CodeInvalidSettings, "")
		refusal(t, s, protocol.SetMode{V: 1}, events.CodeInvalidSettings, "")
		wants(t, second(s.command(protocol.SetMode{V: 1, Approval: events.ApprovalAsk})), "mode.set")
		wants(t, second(s.command(protocol.SetMode{V: 1, Approval: events.ApprovalAsk})), "command.noted")
	})
	t.Run("a mode that needs nobody lets go on what waits, and holds for later turns", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		_, list := s.command(protocol.SetMode{V: 1, Approval: events.ApprovalFull})
		wants(t, list, "mode.set", "approval.resolved", "tool.requested")
		if r := find[events.ApprovalResolved](t, list); r.By != events.ResolvedByRule {
			t.Errorf("decided %+v", r)
		}
		s.result(id(1, 1, 1), events.ToolOK, "")
		s.answer(events.Text("done"))
		s.send("b")
		wants(t, s.answer(call("ask", "{}")), "step.completed", "tool.requested")
	})
	t.Run("a mode that is set while a turn runs is the one its next calls are judged by", func(t *testing.T) {
		t.Parallel()
		s := begin(t)
		s.send("a")
		s.command(protocol.SetMode{V: 1, Approval: events.ApprovalAsk})
		list := s.answer(call("pay", "{}"))
		if r := find[events.ApprovalRequested](t, list); r.Mode != events.ApprovalAsk || r.Policy != events.PolicyAllow {
			t.Errorf("asked %+v", r)
		}
	})
}
