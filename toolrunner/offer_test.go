package toolrunner_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
)

func TestWhoOffersAToolThatNeedsAPersonIsTold(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name     string
		policy   events.Policy
		readOnly bool
		told     bool
	}{
		{"it changes something and says nothing", "", false, true},
		{"it asks", events.PolicyAsk, false, true},
		{"it is allowed", events.PolicyAllow, false, false},
		{"it changes nothing", "", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				m := effect()
				m.Policy, m.ReadOnly = tt.policy, tt.readOnly
				var log bytes.Buffer
				startWith(t, toolrunner.Config{Log: slog.New(slog.NewTextHandler(&log, nil))}, newBus(), m, hangs)
				synctest.Wait()
				if told := strings.Contains(log.String(), "until somebody approves"); told != tt.told {
					t.Errorf("told: %v, want %v\n%s", told, tt.told, &log)
				}
			})
		})
	}
}
