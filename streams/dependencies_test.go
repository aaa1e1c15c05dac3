package streams

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The loops declare ports and this package fits them without knowing the loops.
// If this fails, move the shared type to protocol; do not widen the list.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, append(deptest.Ours("events", "protocol"), deptest.Module)...)
}
