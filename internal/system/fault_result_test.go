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

	lost     bool
	reported chan struct{} // closed at the first result
	report   func()
}

func newDeaf(lost bool) *deaf {
	d := &deaf{lost: lost, reported: make(chan struct{})}
	d.report = sync.OnceFunc(func() { close(d.reported) })
	return d
}

// Result implements [toolrunner.Bus].
func (d *deaf) Result(ctx context.Context, k events.Key, r protocol.Result) (protocol.ResultAnswer, error) {
	if !d.lost {
		if _, err := d.Bus.Result(ctx, k, r); err != nil {
			return protocol.ResultAnswer{}, err
		}
	}
	d.report()
	return protocol.ResultAnswer{}, errors.New("no answer came")
}

// B30: the tool ran, the result was reported without an answer, and then the
// runner died. There is one result, and whether the tool runs again is for its
// manifest to say.
func TestB30AnEffectWhoseResultWasLostHasOneResult(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, tool string
		lost       bool
		runs       int
		want       events.ToolStatus
	}{
		{"may run again, the result never arrived", "repeatable", true, 2, events.ToolOK},
		{"may run again, only the answer was lost", "repeatable", false, 1, events.ToolOK},
		{"must not run twice, the result never arrived", "effect", true, 1, events.ToolUnknown},
		{"must not run twice, only the answer was lost", "effect", false, 1, events.ToolOK},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := newSystem(t, options{ackWait: shortAckWait})
			s.startOrchestrator(nil)
			s.startProjections()
			d := newDeaf(tt.lost)
			first := s.startRunner(func(b toolrunner.Bus) toolrunner.Bus { d.Bus = b; return d })
			c := s.chat(t, scripted(t, toolThenText("      - call: {name: "+tt.tool+", arguments: '{\"text\": \"done\"}'}")))
			c.do(send("go"))
			select {
			case <-d.reported:
			case <-patient(t).Done():
				t.Fatal("no result was reported")
			}
			first.kill()
			s.startRunner(nil)

			h := c.ended(1)
			c.results(h, tt.want)
			runs := s.tools.of(c.key)
			if len(runs) != tt.runs {
				t.Errorf("it ran %d times, want %d: %+v", len(runs), tt.runs, runs)
			}
			for _, r := range runs {
				if want := protocol.IdempotencyKey(c.key, r.call); r.key != want {
					t.Errorf("it ran under the key %q, want %q", r.key, want)
				}
			}
			if tt.want == events.ToolUnknown {
				says(t, "answer", h.finalText(), "outcome is unknown") // the model is told plainly
			}
			c.stillWorks()
			s.nothingIsLeft()
		})
	}
}
