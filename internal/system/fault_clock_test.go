package system

import (
	"fmt"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
)

// B42: clocks of clients and orchestrators are minutes apart, one is set back in
// the middle of a turn, and ids are made from clocks. Order comes from where
// things are stored and from nothing else: each input is answered once, in the
// order in which it was sent, and the log is that of true clocks.
func TestB42OrderComesFromTheLogAndNotFromClocks(t *testing.T) {
	t.Parallel()
	told := func(t *testing.T, wrong bool) []events.Type {
		t.Helper()
		s := newSystem(t, options{})
		var back atomic.Int64 // what the clocks of orchestrators are set back by
		for _, ahead := range []time.Duration{10 * time.Minute, -10 * time.Minute} {
			s.startOrchestrator(func(cfg *orchestrator.Config, _ *orchestrator.Bus) {
				if wrong {
					cfg.Clock = func() time.Time { return time.Now().Add(ahead - time.Duration(back.Load())) }
				}
			})
		}
		s.startProjections()
		s.startRunner(nil)
		c := s.chat(t, scripted(t, toolThenText("      - call: {name: ping, arguments: \"\"}")))
		for n := range 4 {
			id := idAt(time.Now().Add([]time.Duration{10 * time.Minute, -10 * time.Minute}[n%2]))
			_, err := c.c.CommandWithID(patient(t), c.key.Chat, id, send(fmt.Sprintf("input %d", n)))
			if err != nil {
				t.Fatal(err)
			}
			if n == 2 {
				back.Store(int64(time.Hour)) // its turn runs
			}
			if n%2 != 0 { // the one before it may have been waited for by this one
				c.ended(n + 1)
			}
		}
		h := c.ended(4)
		var inputs []string
		for _, e := range all[events.InputAccepted](h) {
			inputs = append(inputs, textOf(e.Parts))
		}
		if want := []string{"input 0", "input 1", "input 2", "input 3"}; !slices.Equal(inputs, want) {
			t.Errorf("accepted %q, want %q", inputs, want)
		}
		if n := len(all[events.TurnCompleted](h)); n != 4 {
			t.Errorf("%d turns completed, want 4", n)
		}
		if !slices.IsSortedFunc(h.commits, func(a, b events.Commit) int { return int(a.At - b.At) }) {
			t.Errorf("the times of the commits go back:\n%s", h)
		}
		c.stillWorks()
		var steps []events.Type
		for _, commit := range c.read().commits {
			for _, e := range commit.Events {
				steps = append(steps, e.EventType())
			}
		}
		slices.Sort(steps) // whether an input waits is a matter of moments
		return steps
	}
	right, wrong := told(t, false), told(t, true)
	if !slices.Equal(right, wrong) {
		t.Errorf("with wrong clocks:\n%v\nwith true ones:\n%v", wrong, right)
	}
}

// idAt is an id as a client mints it whose clock shows that time.
func idAt(at time.Time) string {
	return ulid.MustNew(ulid.Timestamp(at), ulid.DefaultEntropy()).String()
}
