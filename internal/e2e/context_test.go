//go:build processes

package e2e

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// patientSummary takes its time over a summary, and over nothing else.
const patientSummary = `
rules:
  - when: {input: notes from which it can be continued}
    answer:
      - text: "They count. "
      - pause: 2s
      - text: "So far to six."
  - answer:
      - text: "Answer to: {{input}}"
`

// asksForSummary reports whether a summary is being written.
func (h history) asksForSummary() bool {
	asked := every[events.StepRequested](h)
	return h.last("step.requested.v1") && asked[len(asked)-1].Purpose == events.PurposeSummary
}

// A turn that outgrew the window of its model is stopped from another process while
// its summary is written. It is over in time and has not answered, and the next one
// has the older messages summed up and answers.
//
// Rules: S6.3, S10.2, S10.3.
func TestAnInterruptOfASummaryThatNobodyAskedFor(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: patientSummary, window: 3000})
	startParts(c)
	cl, r := c.client(), c.reader()
	long := strings.Repeat("and so on ", 100) // about a sixth of the window, with its answer
	k := ask(t, cl, "one "+long)
	turn := 1
	summing := func(h history) bool { return h.asksForSummary() || h.ended(turn) }
	for !r.until(t, k, "an answer, or a summary", summing).asksForSummary() {
		if turn++; turn > 9 {
			t.Fatal("nothing is summed up")
		}
		say(t, cl, k.Chat, "more "+long)
	}
	c.everturn("interrupt", k.Chat, "--turn", strconv.Itoa(turn))
	h := r.until(t, k, "the end of the turn", func(h history) bool { return len(every[events.TurnInterrupted](h)) > 0 })
	if took := h.tookToEnd(); took > endsWithin {
		t.Errorf("the turn ended %v after the request\n%s", took, h)
	}
	if n := len(every[events.ContextCompacted](h)); n != 0 {
		t.Errorf("%d summaries are shown\n%s", n, h)
	}
	say(t, cl, k.Chat, "and then?")
	h = r.until(t, k, "the next answer", func(h history) bool { return h.ended(turn + 1) })
	if h.finalText() != "Answer to: and then?" {
		t.Errorf("then %q", h.finalText())
	}
	if n := len(every[events.ContextCompacted](h)); n != 1 {
		t.Errorf("%d summaries are shown, want that of the next turn\n%s", n, h)
	}
	c.check(r, []events.Key{k})
}

// Everything dies while a summary is written; the next time somebody interrupts it
// from another process. What was said meanwhile is answered, and the summary is
// shown in the one case and missed by nobody in the other.
//
// Rules: S10.3, S10.4.
func TestACompactionOutlivesEveryProcess(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: patientSummary})
	startParts(c)
	cl, r := c.client(), c.reader()
	all := []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "projections-1", "server"}

	long := strings.Repeat("and so on ", 100)
	k := ask(t, cl, "one "+long)
	for turns, text := range []string{"two ", "three ", "four ", "five ", "six "} {
		r.until(t, k, "an answer", func(h history) bool { return h.ended(turns + 1) })
		say(t, cl, k.Chat, text+long)
	}
	r.until(t, k, "the sixth answer", func(h history) bool { return h.ended(6) })

	compact := func() {
		if err := cl.Submit(patient(t), k.Chat, client.NewID(), protocol.Compact{V: protocol.Version}); err != nil {
			t.Fatal(err)
		}
		r.until(t, k, "a summary that is asked for", history.asksForSummary)
	}
	compact()
	for _, name := range all {
		c.kill(name)
	}
	c.restart("server")
	for _, name := range all[:len(all)-1] {
		c.restart(name)
	}
	h := r.until(t, k, "the summary", func(h history) bool { return len(every[events.ContextCompacted](h)) > 0 })
	if e := every[events.ContextCompacted](h)[0]; e.Summary[0].Text+e.Summary[len(e.Summary)-1].Text == "" || e.After >= e.Before {
		t.Errorf("compacted %+v", e)
	}
	for turns, text := range []string{"seven ", "eight ", "nine "} {
		say(t, cl, k.Chat, text+long)
		r.until(t, k, "an answer", func(h history) bool { return h.ended(turns + 7) })
	}

	compact()
	began := time.Now()
	if _, err := cl.Command(patient(t), k.Chat, protocol.Interrupt{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	r.until(t, k, "its end", func(h history) bool { return len(every[events.ContextCompactionFailed](h)) > 0 })
	if took := time.Since(began); took > 5*time.Second {
		t.Errorf("it took %v to end the summary", took)
	}
	say(t, cl, k.Chat, "and then?")
	if h = r.until(t, k, "the next answer", func(h history) bool { return h.ended(10) }); h.finalText() != "Answer to: and then?" {
		t.Errorf("then %q", h.finalText())
	}
	c.check(r, []events.Key{k})
}
