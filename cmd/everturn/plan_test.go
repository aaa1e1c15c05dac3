package main

import (
	"strings"
	"testing"
)

// Rule: S9.
func TestAChatThatPlans(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	b.must("send", "--chat", "c1", "hello")
	if r := b.command("", "set-mode", "c1"); r.code != 2 {
		t.Errorf("set-mode without a mode: code %d: %v", r.code, r.failure)
	}
	b.must("set-mode", "c1", "--plan")
	r := b.command("choose\n2\n1\nmap\n/quit\n", "chat", "--chat", "c1") // asking is offered without being named
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s", r.code, r.failure, r.err)
	}
	says(t, "the chat", r.out, "? Color: Which color?", "= color: blue", `There is no tool named "show_map"`)
	says(t, "the transcript", b.command("", "transcript", "c1").out, "plan mode")
	shown := b.command("", "prompt", "c1", "3.1").out
	said, told := strings.LastIndex(shown, "map"), strings.LastIndex(shown, "You are in plan mode")
	if said < 0 || told < said {
		t.Errorf("the model is not told at the end that it is to plan:\n%s", shown)
	}
	says(t, "the log", b.command("", "log", "c1").out, "plan")

	b.must("set-mode", "c1", "full", "--no-plan")
	b.must("send", "--chat", "c1", "choose")
	says(t, "what can be called when the plan is carried out", b.command("", "transcript", "c1").out, `There is no tool named "ask_user"`)
	if shown := b.command("", "prompt", "c1", "4.1").out; strings.Contains(shown, "plan mode") {
		t.Errorf("the model is still told to plan:\n%s", shown)
	}
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("verify: code %d\n%s", r.code, r.out)
	}
	if r := b.command("", "replay", "c1"); r.code != 0 {
		t.Errorf("replay: code %d\n%s", r.code, r.out)
	}
}
