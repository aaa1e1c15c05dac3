package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Decisions are pure. If this fails, move the code; do not widen the list.
// Package sync is here for results that are computed once and shared.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events", "protocol", "model"),
		[]string{"hash", "sync", "github.com/santhosh-tekuri/jsonschema/v6"})...)
	deptest.NoClock(t)
}
