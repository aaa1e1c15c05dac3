package toolrunner_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A loop knows its ports and no server. If this fails, move the code.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events", "protocol", "model", "internal/picture", "internal/turntrace"), []string{
		"context", "log/slog", "runtime/debug", "sync", "sync/atomic",
		"github.com/go-json-experiment/json/...", "go.opentelemetry.io/otel/...",
	})...)
}
