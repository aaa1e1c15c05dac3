//go:build processes

package readme

import (
	"os/exec"
	"regexp"
	"testing"
)

// Somebody who has only the nats command line types all of docs/COMMANDS.md. The
// page does not say what that command shows, so the facts are looked for here.
func TestCommandsWorkWithTheNatsCommandLine(t *testing.T) {
	if _, err := exec.LookPath("nats"); err != nil {
		t.Fatalf("make natscli installs it: %v", err)
	}
	r := newReader(t)
	dev := r.terminal("dev")
	from, _, err := dev.typeIn("make build && bin/everturn dev")
	if err != nil {
		t.Fatal(err)
	}
	shown, match, err := dev.until(from, regexp.MustCompile(`export (NATS_URL=\S+)[^$]*Stop it`))
	if err != nil {
		t.Fatalf("%v:\n%s", err, shown)
	}
	r.env = append(r.env, shown[match[2]:match[3]])

	r.try("docs/COMMANDS.md")
	// The page has left the first turn, and named a model that is not there: one more
	// thing is said, with a model that is.
	if err := r.block(Block{Terminal: "reader", Text: `nats req --raw everturn.cmd.default.my-first-chat.send ` +
		`'{"v":1,"parts":[{"type":"text","text":"hello"}],"settings":{"model":"script"}}'`, Shows: "…"}); err != nil {
		t.Fatal(err)
	}
	for _, fact := range []struct{ name, looks string }{
		{"the server's receipt of a command", `"stream":"COMMANDS"`},
		{"the outcome of a send", `"ok":true,[^\n]*"turn":1`},
		{"a delta on the feed", `everturn\.feed\.default\.my-first-chat\.delta`},
		{"a commit on the feed", `"type":"turn\.completed\.v1"`},
		{"the service that answers queries", `everturn[^\n]*\d+\.\d+\.\d+`},
	} {
		if shown, _, err := r.terminal(MainTerminal).until(0, regexp.MustCompile(fact.looks)); err != nil {
			t.Errorf("%s: %v\n%s", fact.name, err, shown)
		}
	}

	// Asked again, now that the turn has ended, the transcript has the answer.
	again := Block{
		Terminal: "reader",
		Text:     `nats req --raw everturn.query.default.transcript '{"chat":"my-first-chat"}'`,
		Shows:    "…\n" + `…"What time is it?"…stands in for a model…` + "\n…",
	}
	if err := r.block(again); err != nil {
		t.Error(err)
	}
	if t.Failed() {
		t.Log(r.screens())
	}
}
