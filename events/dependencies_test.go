package events_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The lowest package knows nobody. A failure here means that code is in the
// wrong place, not that the list is too short. Package net/http is here for the
// names of status numbers only, the JSON library because it reads the log.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, []string{
		"net/http", "github.com/go-json-experiment/json", "github.com/go-json-experiment/json/jsontext",
	})...)
	deptest.NoClock(t)
}
