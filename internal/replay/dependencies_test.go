package replay_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A replay asks nobody: whatever it needs is handed in.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("chat", "events", "model", "protocol"))...)
	deptest.NoClock(t)
}
