package client_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/protocol"
)

// An orchestrator refuses a command whose id is no ULID without a trace: its sender
// must not be told that it was stored.
func TestAnIDThatIsNoneIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	i := &installation{T: t, server: embeddedtest.Start(t, embedded.Options{})}
	c := client.New(i.connect(), "", "")
	create := protocol.Create{V: protocol.Version}
	for _, id := range []string{"", "nope", strings.ToLower(client.NewID())} {
		if _, err := c.CommandWithID(t.Context(), "c1", id, create); err == nil || !strings.Contains(err.Error(), "ULID") {
			t.Errorf("%q: %v", id, err)
		}
		if err := c.Submit(t.Context(), "c1", id, create); err == nil || !strings.Contains(err.Error(), "ULID") {
			t.Errorf("submit %q: %v", id, err)
		}
	}
}
