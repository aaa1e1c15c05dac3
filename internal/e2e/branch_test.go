//go:build processes

package e2e

import (
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// patientTurn is an answer that takes its time in the middle.
const patientTurn = `
rules:
  - answer:
      - text: "I begin. "
      - pause: 2s
      - text: "Answer to: {{input}}"
`

// Something else is said while a turn streams, and everything dies: before the
// edit is decided, or right behind that. The old turn is interrupted and stays on
// its branch, the new one is answered, and the chat goes on.
//
// Rule: S13.
func TestAnEditOutlivesEveryProcess(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: patientTurn})
	startParts(c)
	cl, r := c.client(), c.reader()
	all := []string{"orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "projections-1", "server"}
	parts := all[:len(all)-1]
	var keys []events.Key

	for _, tt := range []struct {
		name string
		edit func(k events.Key, body protocol.Edit)
	}{
		{"before it is decided", func(k events.Key, body protocol.Edit) {
			for _, name := range parts {
				c.kill(name)
			}
			if err := cl.Submit(patient(t), k.Chat, client.NewID(), body); err != nil {
				t.Fatal(err)
			}
			c.kill("server")
		}},
		{"right behind its decision", func(k events.Key, body protocol.Edit) {
			if err := cl.Submit(patient(t), k.Chat, client.NewID(), body); err != nil {
				t.Fatal(err)
			}
			r.until(t, k, "the choice of a branch", func(h history) bool { return len(every[events.BranchSelected](h)) > 0 })
			for _, name := range all {
				c.kill(name)
			}
		}},
	} {
		k := ask(t, cl, "the old question")
		keys = append(keys, k)
		r.until(t, k, "a model call", func(h history) bool { return h.last("step.requested.v1") })
		tt.edit(k, protocol.Edit{V: protocol.Version, Turn: 1, Parts: []events.Part{events.Text("the new question")}})
		c.restart("server")
		for _, name := range parts {
			c.restart(name)
		}
		h := r.until(t, k, "the end of both turns", func(h history) bool { return h.ended(2) })
		if n := len(every[events.TurnInterrupted](h)); n != 1 {
			t.Errorf("%s: %d turns were interrupted, want the old one\n%s", tt.name, n, h)
		}
		started := every[events.TurnStarted](h)
		if len(started) != 2 || started[1].Parent != 0 || started[1].Again != 1 || started[1].Cause != events.CauseEdit {
			t.Errorf("%s: started %+v", tt.name, started)
		}
		if want := "I begin. Answer to: the new question"; h.finalText() != want {
			t.Errorf("%s: final text %q, want %q", tt.name, h.finalText(), want)
		}
		say(t, cl, k.Chat, "and then?")
		if h = r.until(t, k, "the next answer", func(h history) bool { return h.ended(3) }); h.finalText() != "I begin. Answer to: and then?" {
			t.Errorf("%s: then %q", tt.name, h.finalText())
		}
	}
	c.check(r, keys)
}
