package toolrunner_test

import (
	"context"
	"testing"
	"testing/synctest"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

func TestS7_6_AToolLearnsWhatItsCallWasGranted(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		granted := make(chan events.Permissions, 1)
		g := start(t, newBus(), effect(), func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			granted <- c.Permissions
			return toolrunner.Output{}, nil
		})
		g.settle(g.work(func(w *protocol.ToolWork) { w.Permissions.Grants = []string{"network"} }), 1).wantAck(t)
		if p := <-granted; len(p.Grants) != 1 || p.Grants[0] != "network" {
			t.Errorf("granted %+v", p)
		}
	})
}
