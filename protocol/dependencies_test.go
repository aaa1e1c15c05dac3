package protocol_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Bodies and subjects are plain data. Context and io are here for the ports
// and for the decoder; neither is a licence to do I/O.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"), []string{
		"context", "io", "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/v1",
	})...)
	deptest.NoClock(t)
}
