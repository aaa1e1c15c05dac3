package replay_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/chatgen"
	"github.com/everturn/everturn/internal/replay"
)

// links are a chain as text: each event, and what brought it about if that came
// from outside.
func links(chain []replay.Link) []string {
	var list []string
	for _, l := range chain {
		text := fmt.Sprintf("%d.%d %s", l.Rev, l.Event, l.What.EventType())
		if l.Cause != nil {
			text += " by " + string(l.Cause.Kind)
		}
		list = append(list, text)
	}
	return list
}

// A turn with a call that needs a licence, and one after it that waited.
func TestWhy(t *testing.T) {
	t.Parallel()
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	log := said("hello")
	log.Answer(chatgen.Call(chatgen.ToolAppend, "{}"))
	claim, _ := log.Claim(call, 1)
	waiting := log.Send("and then?")
	log.Result(call, events.ToolOK, "done")
	log.Fail(events.ClassRateLimit)
	log.Fire()
	log.Answer(events.Text("done"))
	log.Interrupt()
	log.Fire()

	first := []string{
		"3.2 tool.requested.v1", "3.1 step.completed.v1 by attempt",
		"2.3 step.requested.v1", "2.2 turn.started.v1", "2.1 input.accepted.v1 by command",
	}
	result := append([]string{"6.1 tool.completed.v1 by result", "4.1 tool.started.v1 by claim"}, first...)
	for _, tt := range []struct {
		name string
		want []string
	}{
		{"3.2.1", nil}, // no such call
		{"1.1.1", result},
		{"6", result},
		{"6.1", result},
		{"4", append([]string{"4.1 tool.started.v1 by claim"}, first...)},
		{claim, append([]string{"4.1 tool.started.v1 by claim"}, first...)},
		{"3.2", first},
		{log.Commits[2].ID, first[1:]},
		{waiting, []string{"5.1 input.accepted.v1 by command"}},
		{"step:1.2", append([]string{
			"9.1 step.completed.v1 by attempt", "8.1 step.requested.v1 by timer", "7.1 step.failed.v1 by attempt", "6.2 step.requested.v1",
		}, result...)},
		{"turn:2", []string{
			"11.2 turn.interrupted.v1", "11.1 step.interrupted.v1 by timer",
			"10.1 turn.interrupt_requested.v1 by command",
		}},
		{"9.3", []string{"9.3 turn.started.v1", "5.1 input.accepted.v1 by command"}},
		{"1", []string{"1.1 chat.created.v1 by command"}},
		{"99", nil},
		{"1.7", nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			chain, err := replay.Why(log.Commits, tt.name)
			if tt.want == nil {
				if !errors.Is(err, replay.ErrNoEvent) {
					t.Errorf("error %v", err)
				}
				return
			}
			if got := links(chain); err != nil || !slices.Equal(got, tt.want) {
				t.Errorf("%v\ngot  %q\nwant %q", err, got, tt.want)
			}
		})
	}
	for _, name := range []string{"", "0", "7.", "7.x", "turn:x", "step:3", "input:1", "1.2.3.4"} {
		if replay.CheckName(name) == nil {
			t.Errorf("%q passes for the name of an event", name)
		}
	}
}

// Whatever happened, a command is where it began, or an operator who restored the chat.
func TestEveryEventComesFromACommand(t *testing.T) {
	t.Parallel()
	for i := range uint64(100) {
		log := chatgen.Log(ann, rand.New(rand.NewPCG(i, 5)), 60)
		for _, c := range log.Commits {
			for n := range c.Events {
				chain, err := replay.Why(log.Commits, fmt.Sprintf("%d.%d", c.Rev, n+1))
				if err != nil {
					t.Fatal(err)
				}
				last := chain[len(chain)-1]
				if last.Cause == nil || last.Cause.Kind != events.CausedByCommand && last.Cause.Kind != events.CausedByRestore {
					t.Fatalf("log %d, %d.%d: %q", i, c.Rev, n+1, links(chain))
				}
			}
		}
	}
}

// What a model was sent is what the state gives where its step was requested.
func TestAsked(t *testing.T) {
	t.Parallel()
	log := said("hello")
	log.Lose()
	log.Answer(events.Text("hello"))
	step := events.StepID{Turn: 1, Step: 1}
	for attempt, rev := range []int{3, 2, 3} { // 0 is the last
		until, asked, err := replay.Asked(log.Commits, step, attempt)
		if err != nil || len(until) != rev || attempt > 0 && asked.Attempt != attempt {
			t.Errorf("attempt %d: rev %d, %+v, %v", attempt, len(until), asked, err)
		}
	}
	if _, _, err := replay.Asked(log.Commits, step, 3); !errors.Is(err, replay.ErrNoEvent) {
		t.Errorf("an attempt that never was: %v", err)
	}
	if _, err := replay.Fold(log.Commits[2:], nil); err == nil {
		t.Error("an answer that nobody asked for is folded")
	}
}
