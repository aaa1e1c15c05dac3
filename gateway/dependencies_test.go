package gateway

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A gateway is handed what it asks: it speaks HTTP, and neither NATS nor the rules.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "protocol/transcript", "protocol/listing", "gateway/...")...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
