package parts

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
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
	owing, err := owingChats(ctx, bus.Log)
	if err != nil {
		return err
	}
	for _, k := range owing {
		closed, err := o.CloseRestored(ctx, k)
		if err != nil {
			return fmt.Errorf("chat %s: %w", k, err)
		}
		if closed {
			tell(k)
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

// owingChats are those that owe anything, in the order in which the log tells.
func owingChats(ctx context.Context, log *streams.Log) ([]events.Key, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var list []events.Key
	complete := false
	err := log.Heads(ctx, func(h protocol.Head) {
		if !complete && h.Owes != "" {
			list = append(list, h.Key)
		}
	}, func() { complete = true; cancel() })
	if !complete {
		return nil, err
	}
	return list, nil
}
