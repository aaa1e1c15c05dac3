package declared_test

import (
	"testing"

	"github.com/everturn/everturn/internal/deptest"
)

// Programs are run for calls; nobody here knows where calls come from.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("chat", "events", "protocol", "internal/yamlfile", "toolrunner", "toolrunner/capture", "toolrunner/sandbox")...)
}
