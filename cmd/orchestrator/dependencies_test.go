package main

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A service binary connects to a server; it must not contain one. Nor does it look into
// logs, which is for whoever answers queries and for the command line.
func TestServerIsNotLinked(t *testing.T) {
	t.Parallel()
	deptest.Never(t, "github.com/nats-io/nats-server/v2/...", "modernc.org/sqlite/...", "github.com/everturn/everturn/internal/verify")
}
