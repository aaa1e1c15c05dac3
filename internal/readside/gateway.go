package readside

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway"
)

// errNotConnected means that the gateway is on its own.
var errNotConnected = errors.New("not connected to NATS")

// RunGateway answers HTTP until ctx ends. What cfg leaves open is filled in with
// what the connection gives. Domain is that of JetStream; empty is that of the server.
func RunGateway(ctx context.Context, nc *nats.Conn, domain string, cfg gateway.Config) error {
	g, err := gateway.New(wired(nc, domain, cfg))
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	if err := g.Run(ctx); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// wired is cfg with what the connection gives.
func wired(nc *nats.Conn, _ string, cfg gateway.Config) gateway.Config {
	cfg.Chats = chats{nc}
	cfg.Ready = func(context.Context) error {
		if !nc.IsConnected() {
			return errNotConnected
		}
		return nil
	}
	return cfg
}
