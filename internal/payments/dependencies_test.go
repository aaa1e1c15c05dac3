package payments

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// The service knows nothing of whoever pays.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t)
}
