package chatgen

import (
	"testing"

	"github.com/everturn/everturn/protocol"
)

// A verb that nobody makes up anything for would never be tried.
func TestEveryVerbIsTried(t *testing.T) {
	t.Parallel()
	verbs := wild()
	for _, verb := range protocol.Verbs() {
		if verbs[verb] == nil {
			t.Errorf("%s is missing", verb)
		}
	}
	if len(verbs) != len(protocol.Verbs()) {
		t.Errorf("%d verbs are tried, there are %d", len(verbs), len(protocol.Verbs()))
	}
}
