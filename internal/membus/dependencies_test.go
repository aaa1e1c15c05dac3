package membus_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The bus in memory knows the ports, and no loop beyond them.
func TestDependencies(t *testing.T) {
	t.Parallel()

	deptest.OnlyOurs(t, deptest.Ours("events", "orchestrator", "protocol", "toolrunner")...)
}
