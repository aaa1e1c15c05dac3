package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol"
)

// log is the chat's whole log as JSON.
func (b *laptop) log(chat string) string {
	b.Helper()
	r := b.command("", "log", chat, "--json")
	if r.code != 0 {
		b.Fatalf("log: code %d: %v", r.code, r.failure)
	}
	return r.out
}

func TestAChatIsToldWhatToDo(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "fail")
	b.command("", "tail", "c1", "--until-idle")
	for _, tt := range []struct {
		args []string
		code int
		says string // in the log afterwards
	}{
		{[]string{"retry", "c1", "--turn", "1"}, 0, `"cause":"retry"`},
		{[]string{"continue", "c1"}, 4, `"command.rejected`},
		{[]string{"compact", "c1"}, 4, "nothing_to_compact"},
		{[]string{"clear", "c1"}, 0, `"context.cleared`},
		{[]string{"restore", "c1"}, 0, `"context.restored`},
		{[]string{"rename", "c1", "a trip to Oslo"}, 0, `"a trip to Oslo"`},
		{[]string{"archive", "c1"}, 0, `"chat.archived`},
		{[]string{"unarchive", "c1"}, 0, `"chat.unarchived`},
		{[]string{"configure", "c1", "--system", "be brief", "--tools", "none", "--steps", "3"}, 0, `"tools":[]`},
		{[]string{"configure", "c1"}, 2, ""},
		{[]string{"configure", "c1", "--steps=-1"}, 2, "invalid_settings"},
		{[]string{"withdraw", "c1", "nothing"}, 3, "unknown_input"},
		{[]string{"promote", "c1", "nothing"}, 3, "unknown_input"},
		{[]string{"edit-input", "c1", "nothing", "hello"}, 3, "unknown_input"},
		{[]string{"edit-input", "c1", "nothing", " "}, 2, ""},
		{[]string{"send", "--chat", "c1", "hello", "--system", "be rude"}, 0, `"be rude"`},
	} {
		what := strings.Join(tt.args, " ")
		r := b.command("", tt.args...)
		if r.code != tt.code {
			t.Errorf("%s: code %d, want %d: %v", what, r.code, tt.code, r.failure)
		}
		if log := b.log("c1"); !strings.Contains(log, tt.says) {
			t.Errorf("%s: the log does not say %s:\n%s", what, tt.says, log)
		}
		b.command("", "tail", "c1", "--until-idle") // the next one finds no turn running
	}
}

// An input that waits can be taken back by the id that its send was answered with.
func TestAnInputIsTakenBack(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "wait")
	r := b.command("", "send", "--chat", "c1", "never mind", "--json")
	var sent struct{ protocol.Reply }
	if err := json.Unmarshal([]byte(r.out), &sent); err != nil || sent.Input == "" {
		t.Fatalf("%v: %s", err, r.out)
	}
	if r := b.command("", "withdraw", "c1", sent.Input); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the log", b.log("c1"), `"input.withdrawn`)
}

// What waits can be changed and moved, and what comes to stop the turn goes first.
func TestWhatWaitsIsChangedAndMoved(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("", "send", "--chat", "c1", "wait")
	send := func(args ...string) string {
		r := b.command("", append([]string{"send", "--chat", "c1", "--json"}, args...)...)
		var sent struct{ protocol.Reply }
		if err := json.Unmarshal([]byte(r.out), &sent); err != nil || sent.Input == "" {
			t.Fatalf("%v: %s", err, r.out)
		}
		return sent.Input
	}
	first, second := send("one"), send("two")
	b.must("edit-input", "c1", first, "one and a half")
	b.must("promote", "c1", second)
	says(t, "the transcript", b.must("transcript", "c1").out, "waiting", second, "two", first, "one and a half")
	third := send("--mode", "interrupt", "three")
	b.must("tail", "c1", "--until-idle")
	log := b.log("c1")
	says(t, "the log", log, `"input.edited`, `"input.promoted`, `"place":1`, `"turn.interrupt_requested`, third)
	says(t, "the transcript", b.must("transcript", "c1").out, "wait", "three", "two", "one and a half")
}
