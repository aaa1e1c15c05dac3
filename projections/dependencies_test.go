package projections_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Projections know neither NATS nor decisions: what is shown never enters what
// is decided. An import that is missing below belongs elsewhere.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol", "protocol/listing", "protocol/transcript", "projections/question")...)
	deptest.Never(t, "github.com/nats-io/nats.go/...", deptest.Module+"/chat")
}
