package wiretap_test

import (
	"slices"
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// A tap knows bytes, not what they mean. If this fails, move the code; do not
// widen the list.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.Only(t, slices.Concat(deptest.Pure, deptest.Ours("events"),
		[]string{"context", "io", "net", "net/http", "net/http/httptrace", "sync"})...)
}
