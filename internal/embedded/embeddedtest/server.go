// Package embeddedtest runs servers for tests.
package embeddedtest

import (
	"testing"

	"github.com/everturn/everturn/internal/embedded"
)

// Start runs a server until the test ends. Without a store, or a
// configuration that names one, it gets one of its own.
func Start(t testing.TB, o embedded.Options) *embedded.Server {
	t.Helper()
	if o.Store == "" && o.ConfigFile == "" {
		o.Store = t.TempDir()
	}
	s, err := embedded.Start(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}
