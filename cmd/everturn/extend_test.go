package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
)

// Rule: S1.1.6.
func TestABudgetIsReachedAndExtended(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.say("c1", "hello")
	b.must("configure", "c1", "--chat-budget", "tokens=1")
	b.must("send", "--chat", "c1", "hello again")
	says(t, "the transcript", b.command("", "transcript", "c1").out, "turn 2 waits, its budget is used up: tokens of the chat")
	if r := b.command("", "extend", "c1", "tokens=10"); r.code != 2 { // it is the chat's
		t.Errorf("code %d: %v", r.code, r.failure)
	}
	b.must("extend", "c1", "--of-chat", "tokens=none")
	if r := b.command("", "tail", "c1", "--until-idle"); r.code != 0 {
		t.Errorf("tail: code %d\n%s", r.code, r.out)
	}
	says(t, "the log", b.command("", "log", "c1").out, "budget.reached", "budget.extended")
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("verify: code %d\n%s", r.code, r.out)
	}
	if r := b.command("", "replay", "c1"); r.code != 0 {
		t.Errorf("replay: code %d\n%s", r.code, r.out)
	}
}

// Rule: S1.1.6.
func TestNoCountGoesRoundABudget(t *testing.T) {
	t.Parallel()
	script := filepath.Join(t.TempDir(), "script.yaml")
	if err := os.WriteFile(script, []byte(`
rules:
  - when: {step: 3}
    answer: [{text: done}]
  - usage: {input: 9223372036854775807, output: 1}
    answer: [{call: {name: current_time, arguments: '{}'}}]
`), 0o600); err != nil {
		t.Fatal(err)
	}
	b := devWith(t, "--script", script)
	b.must("send", "--chat", "c1", "--budget", "tokens=10", "what time is it?")
	log := ""
	for !strings.Contains(log, "budget.reached.v1") {
		if log = b.must("log", "c1").out; strings.Count(log, "step.completed.v1") > 1 {
			t.Fatalf("more was asked:\n%s", log)
		}
	}
	b.must("interrupt", "c1")
	b.must("tail", "c1", "--until-idle")
	if r := b.command("", "verify"); r.code != 0 {
		t.Errorf("verify: code %d\n%s", r.code, r.out)
	}
	says(t, "the transcript", b.must("transcript", "c1").out, "1099511627776 tokens in")
}

func TestABudgetAsPeopleWriteIt(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]events.Budget{
		"tokens=1000":                   {Tokens: 1000},
		"tokens=none,cost=5,time=1m30s": {Tokens: events.Unlimited, CostMicros: 5, TimeMS: 90_000},
		"time=none":                     {TimeMS: events.Unlimited},
	} {
		var b budgetValue
		if err := b.UnmarshalText([]byte(text)); err != nil || *b.budget != want {
			t.Errorf("%s is read as %+v, %v", text, b.budget, err)
		}
	}
	const number = "want a whole number from 1 to 9007199254740992, or none"
	for text, want := range map[string]string{
		"": "is no bound: want tokens=N", "steps=1": "is no bound", "cost=1,,": `"" is no bound`, "5": "is no bound",
		"tokens": number, "tokens=": number, "tokens=0": number, "tokens=-1": number, "tokens=x": number, "cost=1.5": number,
		"cost=99999999999999999999": number, "tokens=9007199254740993": number,
		"time=10": "want a duration of 1ms to 720h", "time=1us": "want a duration", "time=99999999h": "want a duration of 1ms to 720h", "time=721h": "720h",
		"tokens=1,tokens=2": "tokens is named twice", "time=none,cost=1,time=none": "time is named twice",
	} {
		var b budgetValue
		if err := b.UnmarshalText([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is read as %+v: %v, want %q", text, b.budget, err, want)
		}
	}
}
