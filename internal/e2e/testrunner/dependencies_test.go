package main

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// It is a runner as others are, so it has no server in it.
func TestServerIsNotLinked(t *testing.T) {
	t.Parallel()
	deptest.Never(t, "github.com/nats-io/nats-server/v2/...", "modernc.org/sqlite/...")
}
