package parts

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// ErrOrchestrated means that an orchestrator works on the streams.
var ErrOrchestrated = errors.New("an orchestrator is running: stop all of them first")

// CloseRestored ends what is open in all chats of streams that come from a backup,
// and tells of each chat in which anything was. It may be broken off and called
// again. [ErrOrchestrated] means that nothing was done.
func (d Domain) CloseRestored(ctx context.Context, nc *nats.Conn, tell func(events.Key)) error {
	if err := d.unattended(ctx, nc); err != nil {
		return err
	}
	bus, err := streams.Open(ctx, nc, streams.Options{Domain: string(d)})
	if err != nil {
		return err
	}
	defer bus.Close()
	o, err := orchestrator.New(orchestrator.Config{}, portsOf(bus), func(string) (model.Model, bool) { return nil, false })
	if err != nil {
		return err
	}
	heads, err := bus.Log.AllHeads(ctx)
	if err != nil {
		return err
	}
	for _, h := range heads {
		if h.Owes == "" {
			continue
		}
		closed, err := o.CloseRestored(ctx, h.Key)
		if err != nil {
			return fmt.Errorf("chat %s: %w", h.Key, err)
		}
		if closed {
			tell(h.Key)
		}
	}
	return nil
}

// unattended is [ErrOrchestrated] if somebody waits for commands, or has some in hand.
func (d Domain) unattended(ctx context.Context, nc *nats.Conn) error {
	js, err := d.jetStream(nc)
	if err != nil {
		return err
	}
	commands, err := js.Stream(ctx, streams.CommandsStream)
	if err != nil {
		return err
	}
	for c := range commands.ListConsumers(ctx).Info() {
		if c.NumWaiting > 0 || c.NumAckPending > 0 {
			return ErrOrchestrated
		}
	}
	return nil
}
