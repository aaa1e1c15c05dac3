//go:build processes

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner/tools"
)

// suspend stops a process of ours where it is, without ending it.
func (c *cluster) suspend(name string) {
	c.t.Helper()
	if err := c.running[name].cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		c.t.Fatalf("stop %s: %v", name, err)
	}
}

// resume lets a suspended process go on as if no time had passed.
func (c *cluster) resume(name string) {
	c.t.Helper()
	if err := c.running[name].cmd.Process.Signal(syscall.SIGCONT); err != nil {
		c.t.Fatalf("continue %s: %v", name, err)
	}
}

// thoughtfulTurn leaves time to stop a process while it asks a model.
const thoughtfulTurn = `
rules:
  - when: {step: 1}
    answer:
      - pause: 1500ms
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
  - answer:
      - pause: 300ms
      - text: "Answer to: {{input}}"
`

// suspendedChats are enough that both orchestrators ask models, and that both
// are given some of the messages that follow.
const suspendedChats = 12

// B31: two writers of one chat, of whom one is stopped in the middle of its
// work and goes on long after the other has done it, never fork it: exactly one
// answer is written, and a later message is answered.
func TestB31ASuspendedOrchestratorWritesNothingTwice(t *testing.T) {
	t.Parallel()
	testB31(t, func(c *cluster) {
		// The server remembers whom it gave the work to.
		c.untilMetrics("orchestrator-2", "an attempt that it took over", func(n numbers) bool { return n.of(attemptsLost) > 0 })
	})
}

// B31 again, and the server is killed while the one is stopped.
func TestB31ASuspendedOrchestratorWritesNothingTwiceAcrossAServerKill(t *testing.T) {
	t.Parallel()
	testB31(t, func(c *cluster) {
		c.kill("server")
		c.restart("server")
	})
}

func testB31(t *testing.T, meanwhile func(*cluster)) {
	t.Helper()
	c := startCluster(t, settings{ackWait: time.Second, script: thoughtfulTurn})
	startParts(c)
	cl, r := c.client(), c.reader()
	js, err := jetstream.New(c.connect())
	if err != nil {
		t.Fatal(err)
	}

	var keys []events.Key
	for n := range suspendedChats {
		keys = append(keys, ask(t, cl, fmt.Sprint("first ", n)))
	}
	const stopped, other = "orchestrator-1", "orchestrator-2"
	before := c.untilMetrics(stopped, "a model call", func(n numbers) bool { return n.of(attemptsRunning) > 0 })
	c.suspend(stopped)
	suspended := time.Now()
	atOnce(t, suspendedChats, func(n int) error { return send(t.Context(), js, keys[n], fmt.Sprint("more ", n)) })
	meanwhile(c)

	// The first message, and those sent meanwhile.
	for _, k := range keys {
		r.until(t, k, "both its turns, by the other one", func(h history) bool { return h.ended(2) })
	}
	away := time.Since(suspended)
	done := c.untilMetrics(other, "its metrics", always)
	c.resume(stopped)
	// That something is too late shows that the stopped one had it in hand. A
	// server that died meanwhile may have forgotten that it gave the work away;
	// then the sweep brings it back, and no attempt is taken over.
	after := c.untilMetrics(stopped, "what it finds out to be too late", func(n numbers) bool {
		return n.of(cameTooLate) > before.of(cameTooLate)
	})
	t.Logf("stopped for %v with %d models being asked; the other took over %d attempts; late when it went on: %d",
		away.Round(time.Millisecond), before.of(attemptsRunning), done.of(attemptsLost), after.of(cameTooLate))

	// It works again, beside the other.
	for said := 3; c.untilMetrics(stopped, "its metrics", always).of(commitsMade) == after.of(commitsMade); said++ {
		say(t, cl, keys[0].Chat, fmt.Sprint("again ", said))
		r.until(t, keys[0], "another answer", func(h history) bool { return h.ended(said) })
	}
	for n, k := range keys {
		say(t, cl, k.Chat, fmt.Sprint("last ", n))
	}
	for n, k := range keys {
		h := r.until(t, k, "the answer to the last message", func(h history) bool {
			return h.last("turn.completed.v1") && h.finalText() == fmt.Sprint("Answer to: last ", n)
		})
		c.oneAnswerEach(k, h)
	}
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// send stores a message and does not wait for what becomes of it.
func send(ctx context.Context, js jetstream.JetStream, k events.Key, text string) error {
	body, err := json.Marshal(protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(text)}})
	if err != nil {
		return err
	}
	_, err = js.Publish(ctx, protocol.CommandSubject(k, string(protocol.VerbSend)), body)
	return err
}

// oneAnswerEach fails unless the transcript shows every message of the chat with
// exactly one answer, in log and transcript alike.
func (c *cluster) oneAnswerEach(k events.Key, h history) {
	c.t.Helper()
	var shown projections.Transcript
	question := projections.TranscriptRequest{Chat: k.Chat, MinRev: h.commits[len(h.commits)-1].Rev}
	if err := c.client().Query(patient(c.t), "transcript", question, &shown); err != nil {
		c.t.Fatal(err)
	}
	said, answers := map[int]int{}, map[int]int{}
	for _, m := range shown.Messages {
		if m.Role == projections.RoleUser {
			said[m.Turn]++
			continue
		}
		for _, p := range m.Parts {
			if p.Type == events.PartText {
				answers[m.Turn]++
			}
		}
	}
	turns := len(every[events.TurnCompleted](h))
	for turn := 1; turn <= turns; turn++ {
		if said[turn] != 1 || answers[turn] != 1 {
			c.t.Errorf("chat %s: turn %d has %d messages and %d answers, want one of each", k, turn, said[turn], answers[turn])
		}
	}
	if len(said) != turns || len(every[events.InputAccepted](h)) != turns {
		c.t.Errorf("chat %s: %d turns shown, %d completed, %d inputs", k, len(said), turns, len(every[events.InputAccepted](h)))
	}
}

// A runner that is stopped inside an effect that must not happen twice, for
// longer than a licence may be in use, and then goes on: nobody else has the
// effect meanwhile, and what it reports comes too late.
//
// Rule: S14.
func TestASuspendedRunnerHasNoEffectTwice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name      string
		arguments string
		reached   func(c *cluster, h history) bool
	}{
		{"before the effect", `"delay_ms": 3000`, func(_ *cluster, h history) bool { return h.last("tool.started.v1") }},
		{"after the effect", `"linger_ms": 3000`, func(c *cluster, h history) bool {
			return h.last("tool.started.v1") && c.hadEffect(every[events.ToolRequested](h)[0].Key)
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			testSuspendedRunner(t, tt.arguments, tt.reached)
		})
	}
}

func testSuspendedRunner(t *testing.T, arguments string, reached func(*cluster, history) bool) {
	t.Helper()
	script := fmt.Sprintf(`
rules:
  - when: {step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}", %s}'}
  - answer:
      - text: "Told: {{result}}"
`, arguments)
	c := startCluster(t, settings{ackWait: time.Second, script: script})
	c.startOrchestrator("orchestrator-1")
	c.startOrchestrator("orchestrator-2")
	c.startProjections("projections-1")
	c.startRunner("toolrunner-1")
	c.toolsOnOffer()
	cl, r := c.client(), c.reader()

	k := ask(t, cl, "pay once")
	r.until(t, k, "the moment to stop it", func(h history) bool { return reached(c, h) })
	before := c.untilMetrics("toolrunner-1", "its metrics", always)
	c.suspend("toolrunner-1")
	suspended := time.Now()
	c.startRunner("toolrunner-2")
	h := r.until(t, k, "the end of its turn without it", func(h history) bool { return h.ended(1) })
	t.Logf("settled %v after the runner was stopped", time.Since(suspended).Round(time.Millisecond))
	c.resume("toolrunner-1")
	c.untilMetrics("toolrunner-1", "its late report", func(n numbers) bool {
		return n.of(callsRunning) == 0 && n.of(resultsSent) > before.of(resultsSent)
	})
	results := every[events.ToolCompleted](h)
	if len(results) != 1 || results[0].Status != events.ToolUnknown {
		t.Errorf("results %+v, want one that is unknown", results)
	}
	say(t, cl, k.Chat, "pay again")
	h = r.until(t, k, "the end of another turn", func(h history) bool { return h.ended(2) })
	if n := len(every[events.ToolCompleted](h)); n != 2 {
		t.Errorf("%d results of two calls\n%s", n, h)
	}
	c.check(r, []events.Key{k})
	c.eachEffectOnce([]events.Key{k})
}

// hadEffect reports whether the ledger has the effect of a call.
func (c *cluster) hadEffect(key string) bool {
	c.t.Helper()
	lines, err := tools.ReadLedger(c.ledger)
	if err != nil {
		c.t.Fatal(err)
	}
	return slices.ContainsFunc(lines, func(l tools.LedgerLine) bool { return l.Key == key })
}
