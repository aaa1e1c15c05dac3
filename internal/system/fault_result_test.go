package system

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// deaf is the bus of a runner that never hears what became of its results. If
// lost is set they do not even arrive.
type deaf struct {
	toolrunner.Bus

	lost bool

	mu       sync.Mutex
	reported map[events.Key]bool
}

// Result implements [toolrunner.Bus].
func (d *deaf) Result(ctx context.Context, k events.Key, r protocol.Result) (protocol.ResultAnswer, error) {
	if !d.lost {
		if _, err := d.Bus.Result(ctx, k, r); err != nil {
			return protocol.ResultAnswer{}, err
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.reported[k] = true
	return protocol.ResultAnswer{}, errors.New("no answer came")
}

// has reports whether the chat's result was reported.
func (d *deaf) has(k events.Key) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.reported[k]
}

// B30: the tool ran, the result was reported without an answer, and then the
// runner died. There is one result, and whether the tool runs again is for its
// manifest to say.
func TestB30AnEffectWhoseResultWasLostHasOneResult(t *testing.T) {
	t.Parallel()
	type outcome struct {
		tool string
		runs int
		want events.ToolStatus
	}
	for _, tt := range []struct {
		name     string
		lost     bool
		outcomes []outcome
	}{
		{"the result never arrived", true, []outcome{
			{"repeatable", 2, events.ToolOK},
			{"effect", 1, events.ToolUnknown}, // must not run twice
		}},
		{"only the answer was lost", false, []outcome{
			{"repeatable", 1, events.ToolOK},
			{"effect", 1, events.ToolOK},
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{ackWait: shortAckWait})
			s.startOrchestrator(nil)
			s.startProjections()
			d := &deaf{lost: tt.lost, reported: map[events.Key]bool{}}
			first := s.startRunner(func(b toolrunner.Bus) toolrunner.Bus { d.Bus = b; return d })
			chats := make([]*chat, len(tt.outcomes))
			for i, o := range tt.outcomes {
				chats[i] = s.chat(t, scripted(t, toolThenText("      - call: {name: "+o.tool+", arguments: '{\"text\": \"done\"}'}")))
				chats[i].do(send("go"))
				eventually(t, "the result was reported", func() bool { return d.has(chats[i].key) })
			}
			first.kill()
			s.startRunner(nil)
			for i, o := range tt.outcomes {
				chats[i].cameTo(o.runs, o.want)
			}
			s.nothingIsLeft()
		})
	}
}

// cameTo wants the chat's one call to have run so often, under its one key, and
// to have that result.
func (c *chat) cameTo(runs int, want events.ToolStatus) {
	c.Helper()
	h := c.ended(1)
	c.results(h, want)
	ran := c.s.tools.of(c.key)
	if len(ran) != runs {
		c.Errorf("it ran %d times, want %d: %+v", len(ran), runs, ran)
	}
	for _, r := range ran {
		if key := protocol.IdempotencyKey(c.key, r.call); r.key != key {
			c.Errorf("it ran under the key %q, want %q", r.key, key)
		}
	}
	if want == events.ToolUnknown {
		says(c.T, "answer", h.finalText(), "outcome is unknown") // the model is told plainly
	}
	c.stillWorks()
}
