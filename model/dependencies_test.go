package model_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The port is words only; what talks to a provider is in a package below.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"), []string{"context"})...)
	deptest.NoClock(t)
}
