package anthropic_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// An adapter knows its provider's format and the port, and no other adapter.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure,
		deptest.Ours("events", "model", "model/internal/attempt", "model/internal/wiretap"),
		[]string{
			"charm.land/fantasy", "charm.land/fantasy/providers/anthropic",
			"context", "net/http",
		})...)
}
