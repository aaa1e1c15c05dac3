package chat_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Whoever is turned down is told what is so instead, and what can be done.
func TestWhatIsSaidToWhoeverIsTurnedDown(t *testing.T) {
	t.Parallel()
	says := func(t *testing.T, r events.CommandRejected, want string) {
		t.Helper()
		if !strings.Contains(r.Message, want) {
			t.Errorf("said %q, want %q", r.Message, want)
		}
	}
	t.Run("by who approved first", func(t *testing.T) {
		t.Parallel()
		s := asking(t)
		s.command(approve(id(1, 1, 1)))
		says(t, refusal(t, s, approve(id(1, 1, 1)), events.CodeAlreadyResolved, "approved"), "it was approved")
		s.result(id(1, 1, 1), events.ToolOK, "done")
		says(t, refusal(t, s, deny(id(1, 1, 1), ""), events.CodeAlreadyResolved, "ok"), "it was approved, and its result is there, with status ok")
	})
	t.Run("by a call that needs nobody", func(t *testing.T) {
		t.Parallel()
		s := asking(t, call("look", "{}"))
		says(t, refusal(t, s, approve(id(1, 1, 2)), events.CodeAlreadyResolved, "running"), "it needs none")
	})
	t.Run("by a call that asks something else", func(t *testing.T) {
		t.Parallel()
		s := askedToPick(t)
		says(t, refusal(t, s, approve(id(1, 1, 1)), events.CodeAlreadyResolved, "running"), "answer is the command for that")
		answer := protocol.Answer{V: 1, Call: id(1, 1, 1), Answers: []events.Answer{{Question: "other", Text: "x"}}}
		says(t, refusal(t, s, answer, events.CodeUnknownQuestion, ""), `there is no question "other", the call asks "q"`)
	})
}
