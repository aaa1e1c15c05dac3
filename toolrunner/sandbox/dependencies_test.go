package sandbox_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// What holds commands knows nothing of chats. It is linked into copies of us
// that run beside programs nobody trusts.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t)
}
