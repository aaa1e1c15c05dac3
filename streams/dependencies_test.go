package streams

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The loops declare ports and this package fits them without knowing the loops.
// A type that this package shares with a loop belongs into protocol.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, append(deptest.Ours("events", "protocol", "internal/workers", "internal/yamlfile"), deptest.Module)...)
}
