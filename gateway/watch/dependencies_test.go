package watch

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Who watches is told facts: a hub knows neither NATS nor the rules.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "protocol/transcript")...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
