package models

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Models are configuration of an orchestrator; they need no bus and no server.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, slices.Concat(deptest.Ours("events", "chat", "model/...", "model", "orchestrator", "internal/yamlfile"))...)
}
