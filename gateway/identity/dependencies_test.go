package identity

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Every way in knows it, so it knows none of them.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, "context")
}
