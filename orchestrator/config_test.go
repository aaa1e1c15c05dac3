package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/orchestrator"
)

func TestConfigReportsAllProblemsAtOnce(t *testing.T) {
	t.Parallel()

	_, err := orchestrator.New(orchestrator.Config{
		Pools: map[string]int{"No Pool": 1, "slow": -1}, Mailboxes: -1, CacheBytes: 5, AckWait: time.Millisecond,
		TryTimeout: time.Hour, Silence: time.Millisecond,
	}, orchestrator.Bus{}, nil)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"No Pool", "pool slow", "mailboxes", "cache bytes", "ack wait", "try timeout", "silence", "no models"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q is not reported: %v", want, err)
		}
	}
}
