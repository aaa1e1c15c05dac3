package streams_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The package that speaks NATS knows no loop, and is linked into binaries that
// talk to a server of their own.
func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t, slices.Concat([]string{deptest.Module}, deptest.Ours("events", "protocol", "internal/workers", "internal/yamlfile"))...)
	deptest.Never(t, "github.com/nats-io/nats-server/v2/...")
}
