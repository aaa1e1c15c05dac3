package parts

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// watch watches the streams beside an orchestrator, until the function it gives
// is called. Each orchestrator does: an alarm may come twice, and must not stay
// out.
func watch(ctx context.Context, nc *nats.Conn, o streams.Options, cfg orchestrator.Config) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		err := streams.Watch(ctx, nc, o, streams.WatchConfig{Log: cfg.Log, Meter: cfg.Meter})
		if ctx.Err() == nil && cfg.Log != nil {
			cfg.Log.Warn("streams are not watched", "error", err)
		}
	})
	return func() {
		cancel()
		watching.Wait()
	}
}
