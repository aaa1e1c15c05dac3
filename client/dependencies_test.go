package client

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Whoever integrates Everturn links its client: words and a connection, neither
// the server nor the loops.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, slices.Concat(deptest.Ours("events", "protocol", "protocol/listing", "protocol/transcript", "internal/picture"))...)
	deptest.Never(t, slices.Concat(deptest.Ours("orchestrator", "toolrunner", "chat", "projections"), []string{"github.com/nats-io/nats-server/v2/..."})...)
}
