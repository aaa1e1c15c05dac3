package protocol_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"pgregory.net/rapid"
)

func TestTimerNames(t *testing.T) {
	t.Parallel()
	for want, name := range map[string]protocol.TimerName{
		"retry-3-2-1":    {Kind: protocol.TimerRetry, Step: step, Attempt: 1},
		"retry-3-2-12":   {Kind: protocol.TimerRetry, Step: step, Attempt: 12},
		"retry-3-2-12-3": {Kind: protocol.TimerRetry, Step: step, Attempt: 12, Number: 3},
		"deadline-3-2-1": {Kind: protocol.TimerDeadline, Call: call},
		"approval-3-2-1": {Kind: protocol.TimerApproval, Call: call},
		"end-3":          {Kind: protocol.TimerEnd, Turn: 3},
		"budget-3-1":     {Kind: protocol.TimerBudget, Turn: 3, Number: 1},
		"budget-3-12":    {Kind: protocol.TimerBudget, Turn: 3, Number: 12},

		"action-3-2": {Kind: protocol.TimerAction, Step: step},

		"question-3-2-1-1":  {Kind: protocol.TimerQuestion, Call: call, Number: 1},
		"question-3-2-1-12": {Kind: protocol.TimerQuestion, Call: call, Number: 12},
		"erase":             {Kind: protocol.TimerErase},
		"delete":            {Kind: protocol.TimerDelete},
	} {
		if got := name.String(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
		if got, err := protocol.ParseTimerName(want); err != nil || got != name {
			t.Errorf("%s parses to %+v, %v", want, got, err)
		}
	}
}

func TestTimerNamesThatAreNone(t *testing.T) {
	t.Parallel()
	for _, s := range []string{
		"", "-", "retry", "retry-", "retry-3-2", "retry-3-2-1-0", "retry-3-2-1-01", "retry-3-2-1-", "retry-3-2-1-1-1", "retry-3-2-a", "retry-3-2--1", "deadline-3-2", "deadline-3.2.1",
		"action", "action-", "action-3", "action-3-2-1", "action-3-02", "action-3.2",
		"question", "question-", "question-3-2-1", "question-3-2-1-", "question-3-2-1-x", "question-3-2-1-01", "question--1",
		"end", "end-", "end--1", "end-+1", "end-01", "end-1-1", "end-x", "End-1", "approval-3-2", "question-3-2-1", "end-99999999999999999999",
		"budget", "budget-", "budget-3", "budget-3-", "budget-3-01", "budget-3-1-1",
		"erase-", "erase-1", "delete-1-1", "deleted",
		strings.Repeat("a", 10_000),
	} {
		got, err := protocol.ParseTimerName(s)
		if err == nil {
			t.Errorf("%q is taken for %+v", s, got)
		} else if len(err.Error()) > 300 {
			t.Errorf("the error repeats %d bytes", len(err.Error()))
		}
	}
}

// No two timers of a chat share a name, and a name says all there is to know.
func TestTimerNamesRoundTrip(t *testing.T) {
	t.Parallel()
	number := rapid.IntRange(0, 1<<31)
	names := rapid.Custom(func(t *rapid.T) protocol.TimerName {
		turn, step, last := number.Draw(t, "turn"), number.Draw(t, "step"), number.Draw(t, "last")
		return rapid.SampledFrom([]protocol.TimerName{
			{Kind: protocol.TimerRetry, Step: events.StepID{Turn: turn, Step: step}, Attempt: last},
			{Kind: protocol.TimerDeadline, Call: events.CallID{Turn: turn, Step: step, Ordinal: last}},
			{Kind: protocol.TimerApproval, Call: events.CallID{Turn: turn, Step: step, Ordinal: last}},
			{Kind: protocol.TimerEnd, Turn: turn},
			{Kind: protocol.TimerAction, Step: events.StepID{Turn: turn, Step: step}},
			{Kind: protocol.TimerQuestion, Call: events.CallID{Turn: turn, Step: step, Ordinal: last}, Number: number.Draw(t, "number")},
			{Kind: protocol.TimerErase},
			{Kind: protocol.TimerDelete},
		}).Draw(t, "name")
	})
	rapid.Check(t, func(t *rapid.T) {
		a, b := names.Draw(t, "a"), names.Draw(t, "b")
		if got, err := protocol.ParseTimerName(a.String()); err != nil || got != a {
			t.Errorf("%s parses to %+v, %v", a, got, err)
		}
		if a != b && a.String() == b.String() {
			t.Errorf("%+v and %+v share the name %s", a, b, a)
		}
	})
}
