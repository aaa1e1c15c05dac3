package audit

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What stands behind a chat is for those who look into it: decisions are folded and
// judged here, and nothing is decided. Where the log is, is not known.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("chat", "events", "internal/replay", "internal/verify", "projections/question", "protocol", "protocol/transcript")...)
	deptest.Never(t, "github.com/nats-io/nats.go/...", deptest.Module+"/orchestrator")
}
