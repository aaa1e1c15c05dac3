package capture_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Bytes are all it knows.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t)
}
