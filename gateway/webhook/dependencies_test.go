package webhook

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// It is handed what happened, and speaks HTTP.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "protocol/cloudevents", "internal/yamlfile")...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
