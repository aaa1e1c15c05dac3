//go:build processes

package e2e

import (
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// payingTurns are turns in which a model wants to do something that must happen once.
const payingTurns = `
rules:
  - when: {input: pay, step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "paid"}'}
  - when: {step: 1}
    answer:
      - text: "Yes."
  - answer:
      - text: "It came to {{result}}"
`

// wantToPay says something in a new chat in which every effect needs a yes, and
// waits until one is wanted. A question that nobody answers is open for so long.
func wantToPay(t *testing.T, cl *client.Client, r reader, open time.Duration) (events.Key, events.ApprovalRequested) {
	t.Helper()
	settings := events.Settings{Approval: events.ApprovalAsk, Limits: &events.Limits{ApprovalMS: open.Milliseconds()}}
	k, h := sayUntil(t, cl, r, settings, "pay", "approval.requested.v1")
	return k, every[events.ApprovalRequested](h)[0]
}

// Waiting for a yes outlives every process: the call whose time is over meanwhile
// is denied as soon as anybody is back, and the one that is approved then runs once.
//
// Rule: S7.4.
func TestApprovalsOutliveEveryProcess(t *testing.T) {
	t.Parallel()
	const soon, late = 10 * time.Second, 10 * time.Minute
	c := startCluster(t, settings{ackWait: time.Second, script: payingTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	long, asked := wantToPay(t, cl, r, late)
	short, due := wantToPay(t, cl, r, soon)

	parts := []string{"projections-1", "orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
	for _, name := range parts {
		c.kill(name)
	}
	over := time.NewTimer(time.Until(due.Due.Time()))
	defer over.Stop()
	<-over.C // its time is over, and nobody is there
	restarted := time.Now()
	for i := range parts {
		c.restart(parts[len(parts)-1-i])
	}

	h := r.until(t, short, "the end of its turn", func(h history) bool { return h.ended(1) })
	if d := every[events.ApprovalResolved](h)[0]; d.By != events.ResolvedByDeadline || d.Decision != events.ApprovalDenied {
		t.Errorf("what was due is decided as %+v", d)
	}
	if took := h.stored[len(h.stored)-1].Sub(restarted); took > slowRecover {
		t.Errorf("it ended %v after the restart, at most %v are allowed", took, slowRecover)
	}
	h = r.until(t, long, "a look", func(history) bool { return true })
	if !h.last("approval.requested.v1") {
		t.Fatalf("the call that is not due does not wait any more:\n%s", h)
	}
	c.everturn("approve", long.Chat, asked.Call.String(), "--args", `{"text": "paid less"}`)
	h = r.until(t, long, "the end of its turn", func(h history) bool { return h.ended(1) })
	if results := every[events.ToolCompleted](h); len(results) != 1 || results[0].Status != events.ToolOK {
		t.Errorf("the call came to %+v", results)
	}
	if n := len(every[events.ToolStarted](h)); n != 1 {
		t.Errorf("it was started %d times", n)
	}
	for _, k := range []events.Key{short, long} {
		say(t, cl, k.Chat, "is anybody there?")
		r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	}
	c.check(r, []events.Key{short, long})
}

// An interrupt from elsewhere ends a turn that waits for a yes, and a yes that
// comes afterwards lets nothing run.
//
// Rules: S6.2, S7.5.
func TestAnInterruptEndsAnApproval(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: payingTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	k, asked := wantToPay(t, cl, r, time.Hour)

	began := time.Now()
	c.everturn("interrupt", k.Chat, "--turn", "1")
	h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
	if took := h.stored[len(h.stored)-1].Sub(began); took > endsWithin {
		t.Errorf("it took %v", took)
	}
	if results := every[events.ToolCompleted](h); len(results) != 1 || results[0].Status != events.ToolCancelled {
		t.Errorf("the call came to %+v", results)
	}
	yes := protocol.Approve{V: protocol.Version, Call: asked.Call, Decision: protocol.DecideApprove}
	if _, err := cl.Command(patient(t), k.Chat, yes); err == nil {
		t.Error("a yes was taken after the end")
	}
	say(t, cl, k.Chat, "is anybody there?")
	h = r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	if h.finalText() != "Yes." {
		t.Errorf("the next message is answered with %q", h.finalText())
	}
	c.check(r, []events.Key{k})
}
