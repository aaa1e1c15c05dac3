package readside

import (
	"context"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway/webhook"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// RunWebhooks sends what happens until ctx ends. It waits for streams that are not
// there yet.
func RunWebhooks(ctx context.Context, nc *nats.Conn, options streams.Options, cfg webhook.Config) error {
	var (
		mu   sync.Mutex
		open []*streams.Outbox
	)
	cfg.Open = func(ctx context.Context, h webhook.Hook) ([]webhook.Queue, error) {
		out, err := streams.OpenOutbox(ctx, nc, options, streams.OutboxOptions{
			Name: h.Name, Tenants: h.Tenants, FromStart: h.FromStart,
		})
		if err != nil {
			return nil, err
		}
		mu.Lock()
		open = append(open, out)
		mu.Unlock()
		list := make([]webhook.Queue, out.Shards())
		for shard := range list {
			list[shard] = outbox{out, shard}
		}
		return list, nil
	}
	defer func() {
		for _, out := range open {
			out.Close()
		}
	}()
	return webhook.Run(ctx, cfg)
}

// outbox is one shard of an outbox.
type outbox struct {
	out   *streams.Outbox
	shard int
}

// Next implements [webhook.Queue].
func (o outbox) Next(ctx context.Context) (protocol.Delivery, error) { return o.out.Next(ctx, o.shard) }
