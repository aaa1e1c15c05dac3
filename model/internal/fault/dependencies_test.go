package fault_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What a failure means follows from what was said alone.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"), []string{"net/http"})...)
	deptest.NoClock(t)
}
