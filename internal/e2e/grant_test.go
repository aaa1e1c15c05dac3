//go:build processes

package e2e

import (
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// grantingTurns are turns whose model has others work for it under one budget. Each
// answer says what it took, so that the sum is known beforehand.
const grantingTurns = `
rules:
  - when: {input: "share it", step: 1}
    usage: {input: 900, output: 100}
    answer:
      - call: {name: delegate, arguments: '{"task": "a short nap"}'}
      - call: {name: delegate, arguments: '{"task": "an effect"}'}
      - call: {name: delegate, arguments: '{"task": "be swift"}'}
      - call: {name: delegate, arguments: '{"task": "be greedy"}'}
  - when: {input: "be swift", step: 1}
    usage: {input: 90, output: 10}
    answer:
      - call: {name: delegate, arguments: '{"task": "a short nap"}'}
  - when: {input: "a short nap", step: 1}
    usage: {input: 90, output: 10}
    answer:
      - pause: 500ms
      - call: {name: wait, arguments: '{"ms": 2000}'}
  - when: {input: "an effect", step: 1}
    usage: {input: 90, output: 10}
    answer:
      - pause: 500ms
      - call: {name: append_ledger, arguments: '{"text": "once"}'}
  - when: {input: "be greedy", step: 1}
    usage: {input: 4000, output: 1000}
    answer:
      - text: "So far so good."
      - pause: 500ms
      - call: {name: append_ledger, arguments: '{"text": "once more"}'}
  - usage: {input: 90, output: 10}
    answer:
      - text: "Done: {{input}}"
`

// What the turns above may spend, and do.
const (
	sharedTokens  = 6500 // of the parent
	grantedTokens = 1100 // a fifth of what the first step left of it
	grandchilds   = 500  // half of what the first step of a child left
	sharedSpent   = 6800 // by the first step and everybody who worked for it
)

// shared is a chat whose model has four others work for it.
func shared(t *testing.T, cl *client.Client) events.Key {
	t.Helper()
	chat := client.NewID()
	settings := events.Settings{
		Tools: &[]string{"delegate", "wait", "append_ledger"}, Budget: &events.Budget{Tokens: sharedTokens},
	}
	if _, err := cl.Command(patient(t), chat, protocol.Create{V: protocol.Version, Settings: settings}); err != nil {
		t.Fatal(err)
	}
	say(t, cl, chat, "share it")
	return cl.Key(chat)
}

// Everything is killed while children work under one budget, and while their parent
// waits because it is used up. Nobody is granted more than is left, each child's
// spending counts once, the one that has used up its share ends without anybody
// extending it, and the parent goes on when there is more.
//
// Rules: S1.1.6, S11.
func TestChildrenShareABudgetAcrossDeaths(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: grantingTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	parts := []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
	die := func() {
		for _, name := range parts {
			c.kill(name)
		}
		for i := range parts {
			c.restart(parts[len(parts)-1-i])
		}
	}
	at := map[string]func(k events.Key){
		"as soon as they are asked for": func(k events.Key) {
			r.until(t, k, "its children", func(h history) bool { return len(every[events.ChildSpawned](h)) == 4 })
		},
		"while the youngest works": func(k events.Key) { r.asleep(t, child(child(k, 3), 1)) },
		"when one has answered": func(k events.Key) {
			r.until(t, k, "an answer", func(h history) bool { return len(every[events.ChildEnded](h)) > 0 })
		},
	}
	var parents, all []events.Key
	for when, wait := range at {
		t.Logf("killed %s", when)
		two := []events.Key{shared(t, cl), shared(t, cl)}
		for _, k := range two {
			wait(k)
		}
		die()
		for _, k := range two {
			r.until(t, k, "the end of its budget", func(h history) bool { return h.last("budget.reached.v1") })
		}
		parents = append(parents, two...)
	}

	die()
	for _, k := range parents {
		h := r.until(t, k, "a look", func(history) bool { return true })
		if !h.last("budget.reached.v1") {
			t.Fatalf("it waits for its budget no more:\n%s", h)
		}
		h.countsChildren(t)
		r.ranOutOfItsShare(t, cl, child(k, 4))
		grandchild := every[events.ChildSpawned](r.until(t, child(k, 3), "a look", func(history) bool { return true }))
		if len(grandchild) != 1 || grandchild[0].Granted != (events.Budget{Tokens: grandchilds}) {
			t.Errorf("a child of %s has %+v work for it", k, grandchild)
		}
		family := r.family(t, k)
		if len(family) != 6 {
			t.Errorf("a family of %d", len(family))
		}
		all = append(all, family...)
	}
	for _, k := range parents {
		c.everturn("extend", k.Chat, "--turn", "1", "tokens=1000")
		h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
		if h.finalText() != "Done: share it" {
			t.Errorf("final text %q\n%s", h.finalText(), h)
		}
	}
	c.check(r, all)
	c.eachEffectOnce(all)
}

// countsChildren fails unless each child of a turn of grantingTurns has its share and
// counts as what it took, and all of them once.
func (h history) countsChildren(t *testing.T) {
	t.Helper()
	for _, e := range every[events.ChildSpawned](h) {
		if e.Granted != (events.Budget{Tokens: grantedTokens}) {
			t.Errorf("call %s is granted %+v\n%s", e.Call, e.Granted, h)
		}
	}
	spent, outcomes := map[int]int64{1: 200, 2: 200, 3: 400, 4: 5000}, map[int]events.ChildOutcome{4: events.ChildBudget}
	ended := every[events.ChildEnded](h)
	if len(ended) != len(spent) {
		t.Errorf("%d children have ended\n%s", len(ended), h)
	}
	for _, e := range ended {
		want, special := outcomes[e.Call.Ordinal]
		if !special {
			want = events.ChildCompleted
		}
		if e.Spent.Tokens != spent[e.Call.Ordinal] || e.Outcome != want {
			t.Errorf("the child of call %s is %s and has spent %+v, want %s and %d\n%s", e.Call, e.Outcome, e.Spent, want, spent[e.Call.Ordinal], h)
		}
	}
	for _, e := range every[events.ToolCompleted](h) {
		if _, special := outcomes[e.Call.Ordinal]; e.IsError != special {
			t.Errorf("the result of call %s is %s\n%s", e.Call, e.Status, h)
		}
	}
	reached := every[events.BudgetReached](h)
	if len(reached) != 1 || reached[0].Scope != events.BudgetOfTurn || reached[0].Spent.Tokens != sharedSpent {
		t.Errorf("reached %+v", reached)
	}
}

// ranOutOfItsShare fails unless the first turn of a child ended by itself when its
// share was used up, and nobody can extend it.
func (r reader) ranOutOfItsShare(t *testing.T, cl *client.Client, k events.Key) {
	t.Helper()
	h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
	stops := every[events.TurnInterruptRequested](h)
	if len(stops) != 1 || stops[0].Reason != events.ReasonBudget || !h.last("turn.interrupted.v1") {
		t.Errorf("chat %s ended as\n%s", k, h)
	}
	for _, e := range every[events.StepRequested](h) {
		if e.Step.Step > 1 {
			t.Errorf("chat %s has the step %s\n%s", k, e.Step, h)
		}
	}
	more := protocol.Extend{V: protocol.Version, Turn: 1, Add: events.Budget{Tokens: 1}}
	if _, err := cl.Command(patient(t), k.Chat, more); err == nil {
		t.Errorf("the first turn of chat %s was extended", k)
	}
}
