package orchestrator

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The loops know no NATS and no other loop. If this fails, move the code; do
// not widen the list.
func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "model", "chat")...)
}
