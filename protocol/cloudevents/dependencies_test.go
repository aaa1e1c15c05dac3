package cloudevents

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What is on the wire is words, nothing that runs.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"))...)
	deptest.NoClock(t)
}
