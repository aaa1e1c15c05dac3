package events_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The lowest package knows nobody. If this fails, move the code; do not widen
// the list. Package net/http is here for the names of status numbers only.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, []string{"net/http"})...)
	deptest.NoClock(t)
}
