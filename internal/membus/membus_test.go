package membus_test

import (
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/bustest"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/toolrunner"
)

func TestBus(t *testing.T) {
	t.Parallel()

	bustest.Run(t, func(t *testing.T) bustest.Rig {
		const ackWait = 600 * time.Millisecond // as on the real server: busy machines need room
		server := membus.New(membus.Options{AckWait: ackWait})
		var runners atomic.Int64
		return bustest.Rig{
			Bus:   server.Process("one").Orchestrator(),
			Other: server.Process("two").Orchestrator(),
			Runner: func(string) toolrunner.Bus {
				return server.Process("runner" + strconv.FormatInt(runners.Add(1), 10)).Runner()
			},
			Publish: server.Publish,
			Listen:  server.Listen,
			AckWait: ackWait,
		}
	})
}
