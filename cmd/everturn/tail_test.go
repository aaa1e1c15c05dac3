package main

import (
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

func TestTailEndsAsTheTurnDid(t *testing.T) {
	t.Parallel()
	b := dev(t)
	if r := b.command("", "send", "--chat", "c1", "fail"); r.code != 0 {
		t.Fatal(r.failure)
	}
	// Whether the turn is over before it is watched or not, and once it is for sure.
	for _, args := range [][]string{{}, {}, {"--json"}} {
		r := b.command("", append([]string{"tail", "c1", "--until-idle"}, args...)...)
		if r.code != 7 {
			t.Errorf("%v: code %d, want 7: %v", args, r.code, r.failure)
			continue
		}
		says(t, "the error", r.failure.Error(), "invalid_request", "as asked")
		if len(args) > 0 {
			says(t, "standard output", r.out, `{"turn":{"turn":1,"status":"failed"`)
			objects(t, "tail", r.out)
		}
	}
}

func TestTailShowsTheAnswerOfATurnThatIsOver(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.command("hello\nagain\n", "chat", "--chat", "c1")
	if r := b.command("", "tail", "c1", "--until-idle"); r.code != 0 || r.out != "you said: again\n" {
		t.Errorf("code %d, out %q: %v", r.code, r.out, r.failure)
	}
}

func TestALiveViewSaysWhenTheNextTryIs(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 29, 20, 18, 28, 0, time.Local)
	step := events.StepID{Turn: 1, Step: 1}
	for _, tt := range []struct {
		name string
		e    events.StepFailed
		want string
	}{
		{
			"it is tried again",
			events.StepFailed{Step: step, Attempt: 1, Class: events.ClassIncomplete, Message: "cut", RetryAt: events.At(at)},
			"! incomplete: cut (attempt 2 of 25 at 20:18:28)\n",
		},
		{"it is not", events.StepFailed{Step: step, Attempt: 25, Class: events.ClassIncomplete, Message: "cut"}, "! incomplete: cut\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			view := &liveView{out: &out}
			view.see(client.Sight{Commit: &events.Commit{Events: []events.Event{tt.e}}})
			if out.String() != tt.want {
				t.Errorf("shows %q, want %q", &out, tt.want)
			}
		})
	}
}

// Who begins to watch in the middle of an answer is told that it has begun before.
func TestALiveViewSaysThatItHasNotSeenTheBeginning(t *testing.T) {
	t.Parallel()
	step := events.StepID{Turn: 1, Step: 1}
	delta := func(attempt, i int, text string) client.Sight {
		return client.Sight{Delta: &protocol.Delta{Turn: 1, Step: step, Attempt: attempt, I: i, Kind: string(events.PartText), Text: text}}
	}
	const mark = "[it has begun to answer; the transcript will have all of it]\n… "
	for _, tt := range []struct {
		name string
		seen []client.Sight
		want string
	}{
		{"from its beginning", []client.Sight{delta(1, 0, "Let me "), delta(1, 1, "look")}, "Let me look"},
		{"in the middle", []client.Sight{delta(1, 3, "at the "), delta(1, 4, "clock")}, mark + "at the clock"},
		{"then the next attempt", []client.Sight{delta(1, 3, "at the"), delta(2, 0, "Let me")}, mark + "at the\n[attempt 2]\nLet me"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			view := &liveView{out: &out}
			for _, s := range tt.seen {
				view.see(s)
			}
			if out.String() != tt.want {
				t.Errorf("shows %q, want %q", &out, tt.want)
			}
		})
	}
}
