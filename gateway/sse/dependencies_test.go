package sse

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A way in knows who asks and what there is to see, and none of the other ways.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "gateway/identity", "gateway/problem", "gateway/watch")...)
	deptest.Never(t, append(deptest.Ours("orchestrator", "toolrunner", "chat", "streams", "client"), "github.com/nats-io/...")...)
}
