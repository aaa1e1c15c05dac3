package readside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/streams"
)

var (
	errNotConnected = errors.New("not connected to NATS")
	errNoTokens     = errors.New("it is not known yet which tokens there are: run `everturn streams apply` if that stays so")
	errNoLoad       = errors.New("it is not known yet which turns are open: run `everturn streams apply` if that stays so")
)

// GatewayConfig is what a gateway works with.
type GatewayConfig struct {
	gateway.Config // what is asked, and the ways in, come from the connection

	Quotas  gateway.Quotas
	Domain  string // of JetStream; empty is that of the server
	Version string // of us, for those who speak MCP

	// Made gets the gateway before it answers anybody. Nil: nobody wants it.
	Made func(*gateway.Gateway)
}

// RunGateway answers HTTP until ctx ends. It closes the listener.
func RunGateway(ctx context.Context, nc *nats.Conn, cfg GatewayConfig) error {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	err := run(ctx, nc, cfg)
	_ = cfg.Listener.Close() // where nothing has come to serve it; else it is closed
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	return nil
}

func run(ctx context.Context, nc *nats.Conn, cfg GatewayConfig) error {
	options := streams.Options{Domain: cfg.Domain}
	store, err := streams.OpenTokens(nc, options)
	if err != nil {
		return err
	}
	defer store.Close()
	known, turns := &tokens{now: time.Now}, newLoad()
	limited := gateway.Limit(chats{nc}, cfg.Quotas, turns)
	hub, end, err := runHub(ctx, nc, options, cfg.Log)
	if err != nil {
		return err
	}
	defer end()
	named := &agents{nc: nc, options: options}
	defer named.Close()
	var counted atomic.Bool
	cfg.Chats, cfg.Tokens = limited, known
	completions, err := openaiWays(cfg.Config, hub, named)
	if err != nil {
		return err
	}
	pages, err := pageWays(cfg.Chats, hub, cfg.Log)
	if err != nil {
		return err
	}
	hosts, err := mcpWays(cfg.Chats, nc, cfg.Version, cfg.Log)
	if err != nil {
		return err
	}
	cfg.Ways = slices.Concat(cfg.Ways, completions, pages, hosts, []gateway.Way{eventsWay(hub)})
	cfg.Ready = func(context.Context) error { return ready(nc, known, counted.Load()) }
	g, err := gateway.New(cfg.Config)
	if err != nil {
		return err
	}

	if cfg.Made != nil {
		cfg.Made(g)
	}
	beside, stop := context.WithCancel(context.WithoutCancel(ctx)) // ended when no request is in hand any more
	var parts sync.WaitGroup
	defer func() { stop(); parts.Wait() }()
	parts.Go(func() { known.watch(beside, store, cfg.Log) })
	parts.Go(func() { turns.watch(beside, nc, options, cfg.Log, func() { counted.Store(true) }) })
	return g.Run(ctx)
}

// ready says why requests cannot be answered now.
func ready(nc *nats.Conn, known *tokens, counted bool) error {
	switch {
	case !nc.IsConnected():
		return errNotConnected
	case !known.known():
		return errNoTokens
	case !counted:
		return errNoLoad
	}
	return nil
}
