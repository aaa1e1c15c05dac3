package chat_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What a chat decides must not depend on the machine it is decided on, so an
// import that is missing below belongs into another package.
// Package sync is here for results that are computed once and shared, the JSON
// library for reading snapshots.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events", "protocol", "model"),
		[]string{
			"hash", "sync", "github.com/go-json-experiment/json",
			"github.com/santhosh-tekuri/jsonschema/v6", "github.com/santhosh-tekuri/jsonschema/v6/kind",
		})...)
	deptest.NoClock(t)
}
