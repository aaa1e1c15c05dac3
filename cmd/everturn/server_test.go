package main

import (
	"bytes"
	"testing"

	"github.com/nats-io/nats-server/v2/server"

	"github.com/everturn/everturn/internal/roles"
)

// A start with accounts has no password of its own to keep, and must not take
// away the one that clients of the other starts have.
func TestThePasswordOfAStoreStaysTheSame(t *testing.T) {
	t.Parallel()
	configuration, err := roles.Generate(roles.Config{Tenants: []string{"default"}, Groups: []string{"builtin"}})
	if err != nil {
		t.Fatal(err)
	}
	flags := storeFlags{Store: t.TempDir(), Host: "127.0.0.1"}
	password := func(configure func(*server.Options)) string {
		var stderr bytes.Buffer
		running, err := flags.start(t.Context(), &surroundings{ctx: t.Context(), stderr: &stderr}, configure)
		if err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := running.Close(); err != nil {
				t.Error(err)
			}
		}()
		_, given := running.Credentials()
		return given
	}
	first := password(nil)
	password(configuration.Configure)
	if again := password(nil); again != first {
		t.Errorf("it was %q and is %q", first, again)
	}
}
