package problem

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Every way in says no, so this knows none of them.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol")...)
}
