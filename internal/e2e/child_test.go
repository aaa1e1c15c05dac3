//go:build processes

package e2e

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// familyTurns are turns whose model has others work for it.
const familyTurns = `
rules:
  - when: {input: "be quick", step: 1}
    answer:
      - call: {name: delegate, arguments: '{"task": "a short nap"}'}
      - call: {name: delegate, arguments: '{"task": "an effect"}'}
      - call: {name: delegate, arguments: '{"task": "be swift"}'}
  - when: {input: "be swift", step: 1}
    answer:
      - call: {name: delegate, arguments: '{"task": "a short nap"}'}
  - when: {input: "a short nap", step: 1}
    answer:
      - text: "Good night."
      - pause: 500ms
      - call: {name: wait, arguments: '{"ms": 2000}'}
  - when: {input: "an effect", step: 1}
    answer:
      - pause: 500ms
      - call: {name: append_ledger, arguments: '{"text": "once"}'}
  - when: {input: "take your time", step: 1}
    answer:
      - call: {name: delegate, arguments: '{"task": "a long nap"}'}
      - call: {name: delegate, arguments: '{"task": "be slower"}'}
  - when: {input: "be slower", step: 1}
    answer:
      - call: {name: delegate, arguments: '{"task": "a long nap"}'}
  - when: {input: "a long nap", step: 1}
    answer:
      - text: "Good night."
      - call: {name: wait, arguments: '{"ms": 60000}'}
  - answer:
      - text: "Done: {{input}}"
`

// delegated says something in a new chat whose model may delegate.
func delegated(t *testing.T, cl *client.Client, text string) events.Key {
	t.Helper()
	chat := client.NewID()
	settings := events.Settings{Tools: &[]string{"delegate", "wait", "append_ledger"}}
	if _, err := cl.Command(patient(t), chat, protocol.Create{V: protocol.Version, Settings: settings}); err != nil {
		t.Fatal(err)
	}
	say(t, cl, chat, text)
	return cl.Key(chat)
}

// family is a chat, its children and theirs, the parents first.
func (r reader) family(t *testing.T, k events.Key) []events.Key {
	t.Helper()
	h, err := r.read(patient(t), k)
	if err != nil {
		t.Fatal(err)
	}
	all := []events.Key{k}
	for _, e := range every[events.ChildSpawned](h) {
		all = append(all, r.family(t, protocol.ChildKey(k, e.Call))...)
	}
	return all
}

// asleep waits until the chat's first call is handed out.
func (r reader) asleep(t *testing.T, k events.Key) {
	t.Helper()
	r.until(t, k, "its tool to run", func(h history) bool { return len(every[events.ToolRequested](h)) > 0 })
}

// child is the chat that works for a call of the first step of the first turn.
func child(k events.Key, ordinal int) events.Key {
	return protocol.ChildKey(k, events.CallID{Turn: 1, Step: 1, Ordinal: ordinal})
}

// Everything is killed while children and theirs work, and goes on where it was: each
// child is made once, each answers once, and no effect happens twice.
//
// Rule: S11.
func TestChildrenOutliveEveryProcess(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: familyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	at := map[string]func(k events.Key){
		"as soon as they are asked for": func(k events.Key) {
			r.until(t, k, "its children", func(h history) bool { return len(every[events.ChildSpawned](h)) == 3 })
		},
		"while the youngest works": func(k events.Key) { r.asleep(t, child(child(k, 3), 1)) },
		"when one has answered": func(k events.Key) {
			r.until(t, k, "an answer", func(h history) bool { return len(every[events.ChildEnded](h)) > 0 })
		},
	}
	var keys []events.Key
	for when, wait := range at {
		var parents []events.Key
		for range 3 {
			parents = append(parents, delegated(t, cl, "be quick"))
		}
		for _, k := range parents {
			wait(k)
		}
		parts := []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
		for _, name := range parts {
			c.kill(name)
		}
		for i := range parts {
			c.restart(parts[len(parts)-1-i])
		}
		for _, k := range parents {
			h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
			if h.finalText() != "Done: be quick" {
				t.Errorf("killed %s: final text %q\n%s", when, h.finalText(), h)
			}
			for _, e := range every[events.ChildEnded](h) {
				if e.Outcome != events.ChildCompleted {
					t.Errorf("killed %s: the child of call %s is %s\n%s", when, e.Call, e.Outcome, h)
				}
			}
			family := r.family(t, k)
			if len(family) != 5 {
				t.Errorf("killed %s: a family of %d", when, len(family))
			}
			keys = append(keys, family...)
		}
	}
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// A person at another machine stops a chat whose children and theirs work. All of them
// end in time, nothing begins behind the request, and the next message is answered.
//
// Rule: S6.4.
func TestAnInterruptFromElsewhereReachesChildren(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: familyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	k := delegated(t, cl, "take your time")
	for _, youngest := range []events.Key{child(k, 1), child(child(k, 2), 1)} {
		r.asleep(t, youngest)
	}
	family := r.family(t, k)
	if len(family) != 4 {
		t.Fatalf("a family of %d", len(family))
	}
	c.everturn("interrupt", k.Chat, "--turn", "1")
	asked := time.Now()
	say(t, cl, k.Chat, "hello")
	for _, member := range family {
		h := r.until(t, member, "the end of its turn", func(h history) bool { return h.ended(1) })
		if took := time.Since(asked); took > endsWithin {
			t.Errorf("chat %s ended %v after the request\n%s", member, took, h)
		}
		if n := len(every[events.TurnInterrupted](h)); n != 1 {
			t.Errorf("chat %s was interrupted %d times\n%s", member, n, h)
		}
		h.nothingBegins(t)
	}
	h := r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	if h.finalText() != "Done: hello" {
		t.Errorf("the next message is answered with %q\n%s", h.finalText(), h)
	}
	c.check(r, family)
}

// A parent ends in time though everybody who worked for it and its children was
// killed, and nobody noticed; so do the children.
//
// Rule: S6.4.
func TestAnInterruptOfAFamilyWhoseWorkersAreGone(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: longAckWait, script: familyTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	k := delegated(t, cl, "take your time")
	for _, youngest := range []events.Key{child(k, 1), child(child(k, 2), 1)} {
		r.asleep(t, youngest)
	}
	for _, name := range []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2"} {
		c.kill(name)
	}
	c.restart("orchestrator-1")
	c.everturn("send", "--chat", k.Chat, "--mode", "interrupt", "hello")
	h := r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	if took := h.tookToEnd(); took > endsWithin {
		t.Errorf("the turn ended %v after the request\n%s", took, h)
	}
	if h.finalText() != "Done: hello" {
		t.Errorf("the next message is answered with %q\n%s", h.finalText(), h)
	}
	family := r.family(t, k)
	for _, member := range family[1:] {
		h := r.until(t, member, "the end of its turn", func(h history) bool { return h.ended(1) })
		if !strings.Contains(fmt.Sprint(h), "turn.interrupted") {
			t.Errorf("chat %s was not interrupted\n%s", member, h)
		}
	}
	c.check(r, family)
}

// nothingBegins fails if anything began in the first turn after it was to end.
func (h history) nothingBegins(t *testing.T) {
	t.Helper()
	stopping := false
	for _, e := range h.all() {
		begun := 0
		switch e := e.(type) {
		case events.TurnInterruptRequested:
			stopping = true
		case events.StepRequested:
			begun = e.Step.Turn
		case events.ToolRequested:
			begun = e.Call.Turn
		case events.ToolStarted:
			begun = e.Call.Turn
		case events.ChildSpawned:
			begun = e.Call.Turn
		default:
		}
		if stopping && begun == 1 {
			t.Errorf("%s after the turn was to end\n%s", e.EventType(), h)
		}
	}
}
