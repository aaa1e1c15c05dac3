package main

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/protocol/transcript"
)

// Rule: S13.
func TestBranchesAtTheCommandLine(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.must("send", "--chat", "c1", "hello")
	b.must("tail", "c1", "--until-idle")
	b.must("edit", "c1", "good morning", "--turn", "1")
	b.must("tail", "c1", "--until-idle")
	b.must("regenerate", "c1")
	b.must("tail", "c1", "--until-idle")

	shown := b.must("transcript", "c1").out
	says(t, "the transcript", shown, "you said: good morning", "turn 3 completed, 3 of 3 beside each other")
	if strings.Contains(shown, "you said: hello") {
		t.Errorf("the transcript shows another branch:\n%s", shown)
	}
	says(t, "the other branch", b.must("transcript", "c1", "--branch", "1").out, "you said: hello", "1 of 3 beside each other")

	var list transcript.Branches
	if err := json.Unmarshal([]byte(b.must("branch", "list", "c1", "--json").out), &list); err != nil {
		t.Fatal(err)
	}
	if n := len(list.Branches); n != 3 || !list.Branches[2].Selected || list.Branches[0].Text != "hello" {
		t.Errorf("branches %+v", list.Branches)
	}
	b.must("branch", "select", "c1", "1")
	says(t, "the list", b.must("branch", "list", "c1").out, "*  1", "good morning")
	says(t, "the transcript", b.must("transcript", "c1").out, "you said: hello")
	if r := b.command("", "branch", "select", "c1", "9"); r.code != 3 {
		t.Errorf("a turn that was never started: code %d: %v", r.code, r.failure)
	}
	if r := b.command("", "transcript", "c1", "--branch", "9"); r.code != 3 {
		t.Errorf("a branch that there is not: code %d: %v", r.code, r.failure)
	}
	says(t, "why", b.must("why", "c1", "turn:3").out, "branch.selected.v1", "to answer turn 2 again")
	b.must("verify", "c1")
	b.must("replay", "c1")
}

// Rule: S13.
func TestBranchesInAChatLineByLine(t *testing.T) {
	t.Parallel()
	b := dev(t)
	r := b.command("/edit too early\nhello\n/edit good morning\n/edit\n/regenerate\n/branch\n/branch x\n/branch 9\n/branch 1\nand then?\n", "chat", "--chat", "c1")
	if r.code != 0 {
		t.Fatalf("code %d: %v", r.code, r.failure)
	}
	says(t, "what was shown", r.out, "you said: hello", "you said: good morning", "LAST SAID", "you said: and then?")
	if n := strings.Count(r.out, "you said: good morning\n"); n < 2 {
		t.Errorf("the edit was answered %d times, want twice:\n%s", n, r.out)
	}
	says(t, "standard error", r.err, "unknown_turn", "/edit TEXT says", "/branch TURN goes on")
	shown := b.must("transcript", "c1").out
	if strings.Contains(shown, "good morning") || !strings.Contains(shown, "and then?") {
		t.Errorf("the chat did not go on with the first branch:\n%s", shown)
	}
}

// A turn that streams is interrupted, and what is said instead is answered.
//
// Rule: S13.
func TestAnEditInterruptsTheTurnThatRuns(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.must("send", "--chat", "c1", "wait")
	says(t, "the outcome", b.must("edit", "c1", "hello").err, "waiting as input")
	if r := b.command("", "tail", "c1", "--until-idle"); r.code != 0 {
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	says(t, "the transcript", b.must("transcript", "c1").out, "you said: hello")
	says(t, "the old branch", b.must("transcript", "c1", "--branch", "1").out, "turn 1 interrupted: another branch was selected")
}
