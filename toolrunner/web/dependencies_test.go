package web_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Who gets pages knows nothing of chats.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t)
}
