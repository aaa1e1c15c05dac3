package main

import (
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
	for _, text := range []string{"", "tokens", "tokens=", "tokens=0", "tokens=-1", "tokens=x", "steps=1", "time=10", "time=1us", "cost=1,,"} {
		var b budgetValue
		if err := b.UnmarshalText([]byte(text)); err == nil {
			t.Errorf("%q is read as %+v", text, b.budget)
		}
	}
}
