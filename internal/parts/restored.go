package parts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// ErrOrchestrated means that an orchestrator works on the streams.
var ErrOrchestrated = errors.New("an orchestrator is running: stop all of them first")

const (
	decidedWithin = 2 * time.Second // many times what a busy orchestrator needs for a command
	lookAgain     = 50 * time.Millisecond
)

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

// unattended is [ErrOrchestrated] if somebody waits for commands. An orchestrator
// that has as many in hand as it takes asks for more as soon as one is decided. One
// that was killed never does, nor does that of a backup: what those had in hand stays
// so in the books of the server until somebody asks.
func (d Domain) unattended(ctx context.Context, nc *nats.Conn) error {
	js, err := d.jetStream(nc)
	if err != nil {
		return err
	}
	commands, err := js.Stream(ctx, streams.CommandsStream)
	if err != nil {
		return err
	}
	for begun := time.Now(); ; {
		inHand := false
		list := commands.ListConsumers(ctx)
		for c := range list.Info() {
			if c.NumWaiting > 0 {
				return ErrOrchestrated
			}
			inHand = inHand || c.NumAckPending > 0
		}
		if err := list.Err(); err != nil {
			return fmt.Errorf("who takes commands: %w", err)
		}
		if !inHand || time.Since(begun) > decidedWithin {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(lookAgain):
		}
	}
}
