package mcp_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Servers are tools of a runner like any other: they know no bus.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "toolrunner", "toolrunner/sandbox")...)
}
