package page

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A page shows what it is told: it neither folds a log nor knows the bus.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours(
		"events", "protocol", "protocol/transcript", "protocol/listing",
		"gateway", "gateway/identity", "gateway/problem", "gateway/watch",
	)...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
