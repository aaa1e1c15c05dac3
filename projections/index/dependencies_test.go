package index

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The index knows neither NATS nor decisions, and only words of what it is asked.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "projections/question", "protocol", "protocol/listing")...)
	deptest.Never(t, "github.com/nats-io/nats.go/...", deptest.Module+"/chat")
}
