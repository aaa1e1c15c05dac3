//go:build processes

package e2e

import (
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// costlyTurns are turns that want more than they may spend: of tokens, or of time,
// while a person is to say yes.
const costlyTurns = `
rules:
  - when: {input: pay, step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "paid"}'}
  - when: {input: nap, step: 1}
    usage: {input: 1000, output: 1000}
    answer:
      - call: {name: wait, arguments: '{"ms": 1}'}
  - when: {step: 1}
    answer:
      - text: "Yes."
  - answer:
      - text: "It came to {{result}}"
`

// A turn that waits for its budget outlives every process, and no model is asked
// for it when they are back. One whose time is over while nobody is there waits as
// soon as somebody is, and what a person lets run afterwards runs, and no more. Both
// go on when there is more to spend.
//
// Rule: S1.1.6.
func TestBudgetsOutliveEveryProcess(t *testing.T) {
	t.Parallel()
	const soon, late = 10 * time.Second, 10 * time.Minute
	c := startCluster(t, settings{ackWait: time.Second, script: costlyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	spent, h := sayUntil(t, cl, r, events.Settings{Budget: &events.Budget{Tokens: 1000}}, "a nap", "budget.reached.v1")
	if e := every[events.BudgetReached](h)[0]; e.Bound != events.BoundTokens || e.Spent.Tokens != 2000 {
		t.Errorf("reached %+v", e)
	}
	timed, h := sayUntil(t, cl, r, events.Settings{
		Approval: events.ApprovalAsk, Budget: &events.Budget{TimeMS: soon.Milliseconds()},
		Limits: &events.Limits{ApprovalMS: late.Milliseconds()},
	}, "pay", "approval.requested.v1")
	asked, began := every[events.ApprovalRequested](h)[0], every[events.TurnStarted](h)[0].At

	parts := []string{"projections-1", "orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
	for _, name := range parts {
		c.kill(name)
	}
	over := time.NewTimer(time.Until(began.Add(soon).Time()))
	defer over.Stop()
	<-over.C // its time is over, and nobody is there
	restarted := time.Now()
	for i := range parts {
		c.restart(parts[len(parts)-1-i])
	}

	h = r.until(t, timed, "the end of its time", func(h history) bool { return h.last("budget.reached.v1") })
	if e := every[events.BudgetReached](h)[0]; e.Bound != events.BoundTime || e.At.Sub(began) < soon {
		t.Errorf("reached %+v, began %v", e, began.Time())
	}
	if took := h.stored[len(h.stored)-1].Sub(restarted); took > slowRecover {
		t.Errorf("it waits %v after the restart, at most %v are allowed", took, slowRecover)
	}
	c.everturn("approve", timed.Chat, asked.Call.String())
	h = r.until(t, timed, "the result", func(h history) bool { return h.last("tool.completed.v1") })
	if n := len(every[events.StepRequested](h)); n != 1 {
		t.Errorf("%d steps were asked for", n)
	}
	h = r.until(t, spent, "a look", func(history) bool { return true })
	if !h.last("budget.reached.v1") {
		t.Fatalf("the other turn does not wait any more:\n%s", h)
	}

	c.everturn("extend", timed.Chat, "time=10m")
	c.everturn("extend", spent.Chat, "--turn", "1", "tokens=100000")
	for _, k := range []events.Key{spent, timed} {
		h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
		if !strings.HasPrefix(h.finalText(), "It came to ") {
			t.Errorf("the final text is %q", h.finalText())
		}
		if n := len(every[events.ToolCompleted](h)); n != 1 {
			t.Errorf("%d calls have results", n)
		}
	}
	for _, k := range []events.Key{spent, timed} {
		say(t, cl, k.Chat, "is anybody there?")
		r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	}
	c.check(r, []events.Key{spent, timed})
}

// An interrupt from elsewhere ends a turn that waits for its budget, and more to
// spend that comes afterwards is refused.
//
// Rules: S1.1.6, S6.3.
func TestAnInterruptEndsATurnWithoutBudget(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: costlyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	k, _ := sayUntil(t, cl, r, events.Settings{Budget: &events.Budget{Tokens: 1000}}, "a nap", "budget.reached.v1")

	c.everturn("interrupt", k.Chat, "--turn", "1")
	h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
	if took := h.tookToEnd(); took > endsWithin {
		t.Errorf("it took %v", took)
	}
	if n := len(every[events.TurnInterrupted](h)); n != 1 {
		t.Errorf("it ended as\n%s", h)
	}
	more := protocol.Extend{V: protocol.Version, Turn: 1, Add: events.Budget{Tokens: 1}}
	if _, err := cl.Command(patient(t), k.Chat, more); err == nil {
		t.Error("a turn was extended after its end")
	}
	say(t, cl, k.Chat, "is anybody there?")
	h = r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	if h.finalText() != "Yes." {
		t.Errorf("the next message is answered with %q", h.finalText())
	}
	c.check(r, []events.Key{k})
}
