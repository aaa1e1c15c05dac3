package picture_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Looking at bytes needs nothing of ours.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, []string{"image", "image/gif", "image/jpeg", "image/png", "io"})...)
}
