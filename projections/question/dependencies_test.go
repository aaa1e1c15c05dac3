package question

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What a question is has nothing to do with where it came from, nor with decisions.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "protocol")...)
	deptest.Never(t, "github.com/nats-io/nats.go/...", deptest.Module+"/chat")
}
