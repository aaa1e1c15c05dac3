package attempt_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// An attempt knows no provider: those are above it.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure,
		deptest.Ours("events", "model", "model/internal/fault", "model/internal/wiretap"),
		[]string{"charm.land/fantasy", "context", "io", "net", "net/http", "net/url", "reflect"})...)
}
