package orchestrator

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The loops know no NATS and no other loop. An import that is missing
// below belongs elsewhere.
func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "model", "chat", "internal/picture", "internal/turntrace", "internal/workers")...)
}
