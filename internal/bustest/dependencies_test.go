package bustest_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The suites know the ports, and no bus.
func TestDependencies(t *testing.T) {
	t.Parallel()

	deptest.OnlyOurs(t, deptest.Ours("events", "orchestrator", "protocol", "toolrunner")...)
}
