package roles

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A configuration is text, and the server's own parser judges it. Who starts the
// server, and who connects, is not decided here.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events", "protocol", "streams"), []string{
		"crypto/rand", "io", "io/fs", "os", "path/filepath", "text/tabwriter",
		"github.com/nats-io/nats-server/v2/server", "golang.org/x/crypto/bcrypt",
	})...)
}
