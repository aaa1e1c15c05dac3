package sim

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The simulation needs no server and no network.
func TestDependencies(t *testing.T) {
	t.Parallel()

	deptest.OnlyOurs(t, deptest.Ours("chat", "events", "internal/membus", "internal/replay", "internal/verify", "model", "orchestrator", "protocol", "toolrunner")...)
}
