package main

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A service binary connects to a server; it must not contain one.
func TestServerIsNotLinked(t *testing.T) {
	t.Parallel()
	deptest.Never(t, "github.com/nats-io/nats-server/v2/...", "modernc.org/sqlite/...")
}
