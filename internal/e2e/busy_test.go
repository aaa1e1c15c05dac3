//go:build processes

package e2e

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// busyTurns are turns that go on for longer than anybody waits, each in another way.
const busyTurns = `
rules:
  - when: {input: "a story", step: 1}
    answer:
      - text: "Once upon a time"
      - pause: 5m
      - text: ", the end."
  - when: {input: "a nap", step: 1}
    answer:
      - text: "Good night."
      - call: {name: wait, arguments: '{"ms": 60000}'}
  - when: {input: "a busy line", step: 1}
    answer:
      - fail: {class: rate_limit, message: "later", retry_after: 10m}
  - when: {input: "a pause", step: 1}
    answer:
      - text: "Well"
      - pause: 3s
      - text: ", here I am."
  - when: {input: "a short break", step: 1}
    answer:
      - fail: {class: rate_limit, message: "soon", retry_after: 5s, times: 1}
      - text: "Back again."
  - answer:
      - text: "You said: {{input}}"
`

const (
	beginning = "Once upon a time"

	// longAckWait is an ack wait that never passes in a test: nobody finds out by it
	// that a worker is gone.
	longAckWait = 2 * time.Minute
)

// situations are what a turn may be doing when it is interrupted.
func situations() map[string]func(h history) bool {
	return map[string]func(h history) bool{
		"a story":     func(h history) bool { return h.last("step.requested.v1") },
		"a nap":       func(h history) bool { return h.last("tool.requested.v1") },
		"a busy line": func(h history) bool { return h.last("step.failed.v1") },
	}
}

// tookToEnd is the time from the request to end a turn to its end.
func (h history) tookToEnd() time.Duration {
	var asked, ended time.Time
	for i, c := range h.commits {
		for _, e := range c.Events {
			if _, ok := e.(events.TurnInterruptRequested); ok && asked.IsZero() {
				asked = h.stored[i]
			}
			if _, ok := e.(events.TurnInterrupted); ok && ended.IsZero() {
				ended = h.stored[i]
			}
		}
	}
	return ended.Sub(asked)
}

// partial is the text that an interrupted step has left.
func (h history) partial() string {
	text := ""
	for _, e := range every[events.StepInterrupted](h) {
		for _, p := range e.Parts {
			text += p.Text
		}
	}
	return text
}

// told begins a turn in a new chat and waits until its answer is under way.
func told(t *testing.T, cl *client.Client, r reader, text string) events.Key {
	t.Helper()
	k := cl.Key(client.NewID())
	if _, err := cl.Command(patient(t), k.Chat, protocol.Create{V: protocol.Version}); err != nil {
		t.Fatal(err)
	}
	w, err := cl.OpenWatcher(patient(t), k.Chat)
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	say(t, cl, k.Chat, text)
	if holds := situations()[text]; holds != nil {
		r.until(t, k, "its turn to wait", holds)
	}
	for text == "a story" {
		s, err := w.Next(patient(t))
		if err != nil {
			t.Fatal(err)
		}
		if s.Delta != nil {
			break
		}
	}
	return k
}

// A person at another machine stops a turn, whatever it is at, or says what is to
// come instead. It is over in time, what was said is kept, nothing begins behind
// the request, which the checker sees to, and the next message is answered.
//
// Rules: S5.3, S6.2, S6.3.
func TestAnInterruptFromElsewhere(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: busyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	ways := map[string]func(k events.Key){
		"interrupt": func(k events.Key) {
			c.everturn("interrupt", k.Chat, "--turn", "1")
			say(t, cl, k.Chat, "hello")
		},
		"send":     func(k events.Key) { c.everturn("send", "--chat", k.Chat, "--mode", "interrupt", "hello") },
		"rollback": func(k events.Key) { c.everturn("send", "--chat", k.Chat, "--mode", "rollback", "hello") },
	}
	var keys []events.Key
	for what := range situations() {
		for how, stop := range ways {
			k := told(t, cl, r, what)
			stop(k)
			h := r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
			name := fmt.Sprintf("%s, %s", what, how)
			if took := h.tookToEnd(); took > endsWithin {
				t.Errorf("%s: the turn ended %v after the request\n%s", name, took, h)
			}
			if n := len(every[events.TurnInterrupted](h)); n != 1 {
				t.Errorf("%s: %d turns were interrupted\n%s", name, n, h)
			}
			if what == "a story" && h.partial() != beginning {
				t.Errorf("%s: %q is kept", name, h.partial())
			}
			if h.finalText() != "You said: hello" {
				t.Errorf("%s: the next message is answered with %q", name, h.finalText())
			}
			if parent, back := every[events.TurnStarted](h)[1].Parent, how == "rollback"; (parent == 0) != back {
				t.Errorf("%s: the next turn follows turn %d", name, parent)
			}
			keys = append(keys, k)
		}
	}
	c.check(r, keys)
}

// A turn ends in time though everybody who worked for it was killed, and nobody
// noticed: what its worker had said is found in the feed.
//
// Rules: S2.6, S6.3.
func TestAnInterruptOfATurnWhoseWorkersAreGone(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: longAckWait, script: busyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	keys := []events.Key{told(t, cl, r, "a story"), told(t, cl, r, "a nap")}
	for _, name := range []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2"} {
		c.kill(name)
	}
	c.restart("orchestrator-1")
	for _, k := range keys {
		c.everturn("send", "--chat", k.Chat, "--mode", "interrupt", "hello")
	}
	for _, k := range keys {
		h := r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
		if took := h.tookToEnd(); took > endsWithin {
			t.Errorf("the turn ended %v after the request\n%s", took, h)
		}
		if h.finalText() != "You said: hello" {
			t.Errorf("the next message is answered with %q", h.finalText())
		}
	}
	h := r.until(t, keys[0], "a look", func(history) bool { return true })
	if h.partial() != beginning {
		t.Errorf("%q is kept of the answer\n%s", h.partial(), h)
	}
	c.check(r, keys)
}

// Everything is killed while inputs of all modes wait, edited and moved, and while a
// model is to be asked once more, and goes on where it was: each input is read once,
// where it belongs, and the model is asked when it said.
//
// Rules: S5.1, S5.2, S5.3.
func TestWaitingInputsOutliveEveryProcess(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: busyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	inputOf := func(reply protocol.Reply, err error) string {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
		return reply.Input
	}
	sendAs := func(k events.Key, mode events.SendMode, text string) string {
		t.Helper()
		return inputOf(cl.SendInput(patient(t), k.Chat, protocol.Send{Parts: []events.Part{events.Text(text)}, Mode: mode}))
	}
	told := func(k events.Key, body protocol.Body) {
		t.Helper()
		if _, err := cl.Command(patient(t), k.Chat, body); err != nil {
			t.Fatal(err)
		}
	}
	steered, stopped := ask(t, cl, "a pause"), ask(t, cl, "a story")
	one, two := sendAs(steered, events.ModeQueue, "one"), sendAs(steered, events.ModeQueue, "two")
	aside := sendAs(steered, events.ModeSteer, "by the way")
	told(steered, protocol.EditInput{V: protocol.Version, Input: one, Parts: []events.Part{events.Text("one and a half")}})
	told(steered, protocol.Promote{V: protocol.Version, Input: two})
	last := sendAs(stopped, events.ModeQueue, "last")
	back := sendAs(stopped, events.ModeRollback, "first")
	broken := ask(t, cl, "a short break")
	r.until(t, broken, "its retry to wait", situations()["a busy line"])

	parts := []string{"projections-1", "orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
	for _, name := range parts {
		c.kill(name)
	}
	for i := range parts {
		c.restart(parts[len(parts)-1-i])
	}

	h := r.until(t, steered, "the end of both turns", func(h history) bool { return h.ended(2) })
	if taken := every[events.InputSteered](h); len(taken) != 1 || !slices.Equal(taken[0].Inputs, []string{aside}) || taken[0].Step.Turn != 1 {
		t.Errorf("steered: %+v", taken)
	}
	if next := every[events.TurnStarted](h)[1].Inputs; !slices.Equal(next, []string{two, one}) {
		t.Errorf("the next turn begins with %v, want %v", next, []string{two, one})
	}
	if h.finalText() != "You said: one and a half" {
		t.Errorf("what was edited is answered with %q", h.finalText())
	}
	h = r.until(t, stopped, "the end of three turns", func(h history) bool { return h.ended(3) })
	turns := every[events.TurnStarted](h)
	if !slices.Equal(turns[1].Inputs, []string{back}) || turns[1].Parent != 0 || !slices.Equal(turns[2].Inputs, []string{last}) || turns[2].Parent != 2 {
		t.Errorf("the next turns are %+v\n%s", turns[1:], h)
	}
	h = r.until(t, broken, "its answer", func(h history) bool { return h.ended(1) })
	if h.finalText() != "Back again." {
		t.Errorf("what was tried again is answered with %q\n%s", h.finalText(), h)
	}
	h.keepsRetryTimes(t)
	for _, k := range []events.Key{stopped, broken} {
		say(t, cl, k.Chat, "hello")
		r.until(t, k, "the next answer", func(h history) bool { return h.last("turn.completed.v1") && h.finalText() == "You said: hello" })
	}
	c.check(r, []events.Key{steered, stopped, broken})
}

// keepsRetryTimes fails if a model was asked again before its time.
func (h history) keepsRetryTimes(t *testing.T) {
	t.Helper()
	const early = time.Second // the server counts in whole seconds
	var due time.Time
	for i, c := range h.commits {
		for _, e := range c.Events {
			switch e := e.(type) {
			case events.StepFailed:
				due = e.RetryAt.Time()
			case events.StepRequested:
				if e.Attempt > 1 && h.stored[i].Before(due.Add(-early)) {
					t.Errorf("attempt %d began %v before its time\n%s", e.Attempt, due.Sub(h.stored[i]), h)
				}
			default:
			}
		}
	}
}
