//go:build processes

package e2e

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner/tools"
)

// slowTurn is a turn of three steps with time to be killed in each: a model that
// thinks, an effect that must happen once, a tool that takes its time.
const slowTurn = `
rules:
  - when: {step: 1}
    answer:
      - text: "First the ledger."
      - pause: 600ms
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - when: {step: 2}
    answer:
      - text: "Now a pause."
      - pause: 600ms
      - call: {name: wait, arguments: '{"ms": 900}'}
  - answer:
      - pause: 600ms
      - text: "All done: {{input}}"
`

// moments are when a process is killed: what the log of a chat shows then.
var moments = []struct {
	name  string
	holds func(history) bool
}{
	{"during a model call", func(h history) bool {
		return h.last("step.requested.v1") && len(every[events.StepCompleted](h)) == 1
	}},
	{"during a tool", func(h history) bool {
		return h.last("tool.requested.v1") && len(every[events.StepCompleted](h)) == 2
	}},
	{"between", func(h history) bool { return len(every[events.ToolCompleted](h)) == 1 }},
}

const (
	trials       = 5
	chatsAtOnce  = 4
	quickRecover = 5 * time.Second
	slowRecover  = 20 * time.Second

	// effectSettled is the deadline of a call of the ledger, its timeout and
	// twice the time a licence may be in use, and the time to act on it.
	effectSettled = 5*time.Second + events.Dead + quickRecover
)

// Kill -9 of any process at any moment changes no outcome. Recovery is the time
// from the kill to the next commit of a chat that was running. A chat whose
// runner dies right at an effect that must not happen twice is counted apart: it
// waits until nobody can have the effect any more, and learns that it is unknown.
//
// Rule: S14.
func TestKilledProcessesLoseNothing(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: slowTurn})
	startParts(c)
	cl, r := c.client(), c.reader()

	var table strings.Builder
	w := tabwriter.NewWriter(&table, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "killed\twhen\tkills\trecovery p50\tmax\teffects unknown\tsettled within")
	var keys []events.Key
	for _, kind := range []string{"orchestrator", "toolrunner", "server"} {
		for _, moment := range moments {
			var recoveries, settled []time.Duration
			for trial := range trials {
				victims := victims(kind, trial)
				texts := map[events.Key]string{}
				var chats []events.Key
				for n := range chatsAtOnce {
					text := fmt.Sprintf("%s %s %d %d", kind, moment.name, trial, n)
					k := ask(t, cl, text)
					texts[k], chats = text, append(chats, k)
				}
				r.until(t, chats[trial%chatsAtOnce], moment.name, moment.holds)
				for _, name := range victims {
					c.kill(name)
				}
				killed := time.Now()
				for _, name := range victims {
					c.restart(name)
				}
				for _, k := range chats {
					h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
					if want := "All done: " + texts[k]; h.finalText() != want {
						t.Errorf("%s killed %s: final text %q, want %q\n%s", kind, moment.name, h.finalText(), want, h)
					}
					switch gap, ok := h.gapAfter(killed); {
					case ok && h.unknown():
						settled = append(settled, gap)
					case ok:
						recoveries = append(recoveries, gap)
					}
				}
				keys = append(keys, chats...)
			}
			slices.Sort(recoveries)
			p50, worst := recoveries[len(recoveries)/2], recoveries[len(recoveries)-1]
			longest := slices.Max(append(settled, 0))
			fmt.Fprintf(w, "%s\t%s\t%d\t%v\t%v\t%d\t%v\n", kind, moment.name, trials, rounded(p50), rounded(worst), len(settled), rounded(longest))
			if worst > quickRecover {
				t.Errorf("%s killed %s: recovery took %v, at most %v are allowed", kind, moment.name, worst, quickRecover)
			}
			if longest > effectSettled {
				t.Errorf("%s killed %s: a lost effect was settled after %v, at most %v are allowed", kind, moment.name, longest, effectSettled)
			}
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	t.Logf("\n%s", table.String())
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// unknown reports whether the history has a call whose outcome nobody knows.
func (h history) unknown() bool {
	return slices.ContainsFunc(every[events.ToolCompleted](h), func(e events.ToolCompleted) bool { return e.Status == events.ToolUnknown })
}

func rounded(d time.Duration) time.Duration { return d.Round(time.Millisecond) }

// victims are who is killed: the server, or one of both replicas, or both, so
// that the one at work is surely among them.
func victims(kind string, trial int) []string {
	both := []string{kind + "-1", kind + "-2"}
	switch {
	case kind == "server":
		return []string{kind}
	case trial%2 == 0:
		return both
	}
	return both[trial/2%2:][:1]
}

// startParts starts two of each part.
func startParts(c *cluster) {
	c.t.Helper()
	for n := 1; n <= 2; n++ {
		c.startOrchestrator(fmt.Sprintf("orchestrator-%d", n))
		c.startRunner(fmt.Sprintf("toolrunner-%d", n))
	}
	c.startProjections("projections-1")
	c.toolsOnOffer()
}

// toolsOnOffer waits until a turn is given all the tools for tests.
func (c *cluster) toolsOnOffer() {
	c.t.Helper()
	c.untilOffered("append_ledger", "wait")
}

// untilOffered waits until a turn is given all these tools: they come one by one.
func (c *cluster) untilOffered(names ...string) {
	c.t.Helper()
	cl, r := c.client(), c.reader()
	ctx := patient(c.t)
	for ctx.Err() == nil {
		k := ask(c.t, cl, "are the tools there?")
		h := r.until(c.t, k, "a turn", func(h history) bool { return len(every[events.TurnStarted](h)) > 0 })
		r.until(c.t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
		c.others = append(c.others, k)
		if offers(every[events.TurnStarted](h)[0].Settings.Body, names...) {
			return
		}
	}
	c.t.Fatal("no tool was offered")
}

// offers reports whether the settings have all these tools.
func offers(s *events.Effective, names ...string) bool {
	return s != nil && !slices.ContainsFunc(names, func(name string) bool {
		return !slices.ContainsFunc(s.Tools, func(t events.Tool) bool { return t.Name == name })
	})
}

// eachEffectOnce fails where the ledger shows an effect twice, or none for a
// call that reported one.
func (c *cluster) eachEffectOnce(keys []events.Key) {
	c.t.Helper()
	lines, err := tools.ReadLedger(c.ledger)
	if err != nil {
		c.t.Fatal(err)
	}
	effects := map[string]int{}
	for _, l := range lines {
		effects[l.Key]++
		if effects[l.Key] == 2 {
			c.t.Errorf("chat %s: the effect of call %s happened twice", l.Chat, l.Call)
		}
	}
	r := c.reader()
	for _, k := range keys {
		h, err := r.read(patient(c.t), k)
		if err != nil {
			c.t.Fatal(err)
		}
		keyOf := map[events.CallID]events.ToolRequested{}
		for _, e := range every[events.ToolRequested](h) {
			keyOf[e.Call] = e
		}
		for _, e := range every[events.ToolCompleted](h) {
			asked := keyOf[e.Call]
			if asked.Tool == "append_ledger" && e.Status == events.ToolOK && effects[asked.Key] != 1 {
				c.t.Errorf("chat %s: call %s reported an effect that the ledger has %d times", k, e.Call, effects[asked.Key])
			}
		}
	}
}

// With the default ack wait recovery takes longer, but not longer than 20 s.
func TestRecoveryWithDefaultAckWait(t *testing.T) {
	c := startCluster(t, settings{ackWait: 15 * time.Second, script: slowTurn})
	startParts(c)
	cl, r := c.client(), c.reader()
	var chats []events.Key
	for n := range chatsAtOnce {
		chats = append(chats, ask(t, cl, fmt.Sprint("default ", n)))
	}
	for _, k := range chats {
		r.until(t, k, moments[0].name, moments[0].holds)
	}
	c.kill("orchestrator-1")
	killed := time.Now()
	c.restart("orchestrator-1")
	for _, k := range chats {
		h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
		gap, _ := h.gapAfter(killed)
		t.Logf("chat %s: recovery %v", k, gap)
		if gap > slowRecover {
			t.Errorf("recovery took %v, at most %v are allowed", gap, slowRecover)
		}
	}
	c.check(r, chats)
}

// lateEffect is a turn whose effect comes two seconds after its licence.
const lateEffect = `
rules:
  - when: {step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}", "delay_ms": 2000, "linger_ms": 1000}'}
  - answer:
      - text: "Told: {{result}}"
`

// A runner that dies inside an effect that must not happen twice leaves a call
// whose outcome is unknown. It is not run again, and the model is told so, at
// the call's deadline at the latest.
//
// Rule: S14.
func TestEffectOfAKilledRunnerIsUnknown(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: lateEffect})
	startParts(c)
	cl, r := c.client(), c.reader()
	k := ask(t, cl, "pay once")
	r.until(t, k, "the licence", func(h history) bool { return h.last("tool.started.v1") })
	c.kill("toolrunner-1")
	c.kill("toolrunner-2")
	killed := time.Now()
	c.restart("toolrunner-1")
	c.restart("toolrunner-2")
	h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
	results := every[events.ToolCompleted](h)
	if len(results) != 1 || results[0].Status != events.ToolUnknown {
		t.Errorf("results %+v, want one that is unknown", results)
	}
	if !strings.Contains(h.finalText(), "unknown") {
		t.Errorf("the model was told %q", h.finalText())
	}
	gap, _ := h.gapAfter(killed)
	t.Logf("settled %v after the kill", gap)
	c.check(r, []events.Key{k})
	c.eachEffectOnce([]events.Key{k})
}
