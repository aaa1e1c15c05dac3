package mcp

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// It speaks MCP, and neither NATS nor the rules.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours(
		"events", "protocol", "protocol/transcript", "protocol/listing", "gateway", "gateway/identity", "gateway/problem")...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
