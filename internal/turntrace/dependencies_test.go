package turntrace

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Loops link this: the words of tracing, never what exports a trace.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol")...)
	deptest.Never(t, "go.opentelemetry.io/otel/sdk/...", "go.opentelemetry.io/otel/exporters/...", "github.com/nats-io/nats.go/...")
}
