package orchestrator

import (
	"testing"
	"time"

	"github.com/everturn/everturn/protocol"
)

// A command that cannot be settled now is not taken again and again while the line is long.
func TestWhatPassedTheLineAndWasGivenBackIsLetAlone(t *testing.T) {
	t.Parallel()

	const delay = time.Minute
	l, m, now := newLine(0), protocol.Stored{Sequence: 7}, time.Now()
	done, ok := l.pass(m, "acme", now)
	if !ok {
		t.Fatal("nothing passes")
	}
	if err := (passed{swept{message: m}, l}).Later(t.Context(), delay); err != nil {
		t.Fatal(err)
	}
	done()
	if _, ok := l.pass(m, "acme", now.Add(delay/2)); ok {
		t.Error("it passes again at once")
	}
	l.behind(now.Add(2 * delay))
	if _, ok := l.pass(m, "acme", now.Add(2*delay)); !ok || len(l.putOff) > 0 {
		t.Errorf("it never passes again, or is kept in mind: %v", l.putOff)
	}
}
