package readside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/streams"
)

var (
	errNotConnected = errors.New("not connected to NATS")
	errNoTokens     = errors.New("it is not known yet which tokens there are: run `everturn streams apply` if that stays so")
)

// RunGateway answers HTTP until ctx ends. What cfg leaves open is filled in with
// what the connection gives. Domain is that of JetStream; empty is that of the server.
func RunGateway(ctx context.Context, nc *nats.Conn, domain string, cfg gateway.Config) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	options := streams.Options{Domain: domain}
	store, err := streams.OpenTokens(nc, options)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	defer store.Close()
	hub, end, err := runHub(ctx, nc, options, cfg.Log)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	defer end()
	known := &tokens{now: time.Now}
	cfg = wired(nc, known, cfg)
	named := &agents{nc: nc, options: options}
	defer named.Close()
	completions, err := openaiWays(cfg, hub, named)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	pages, err := pageWays(cfg.Chats, hub, cfg.Log)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	cfg.Ways = slices.Concat(cfg.Ways, completions, pages, []gateway.Way{eventsWay(hub)})
	g, err := gateway.New(cfg)
	if err != nil {
		return errors.Join(err, cfg.Listener.Close())
	}
	watching, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { known.watch(watching, store, cfg.Log) })
	defer func() { stop(); watch.Wait() }()
	if err := g.Run(ctx); err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

// wired is cfg with what the connection gives.
func wired(nc *nats.Conn, known *tokens, cfg gateway.Config) gateway.Config {
	cfg.Chats, cfg.Tokens = chats{nc}, known
	cfg.Ready = func(context.Context) error {
		switch {
		case !nc.IsConnected():
			return errNotConnected
		case !known.known():
			return errNoTokens
		}
		return nil
	}
	return cfg
}
