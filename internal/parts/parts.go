// Package parts puts the parts of Everturn on a NATS connection. The service
// binaries and the all-in-one binary use the same functions, so that what runs
// on a laptop is what runs on a cluster.
package parts

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

// Domain is the JetStream domain that holds the streams; empty is that of the
// server a part is connected to.
type Domain string

// jetStream is JetStream in the domain.
func (d Domain) jetStream(nc *nats.Conn) (jetstream.JetStream, error) {
	if d == "" {
		return jetstream.New(nc)
	}
	return jetstream.NewWithDomain(nc, string(d))
}

// Topology says which streams there are to be.
type Topology struct {
	Streams      string `type:"existingfile" placeholder:"FILE" help:"A streams.yaml in place of the one in this binary."`
	ManageAssets bool   `default:"true" negatable:"" help:"Set the streams up at start; --no-manage-assets if somebody else does."`
}

// apply sets the streams up if that is wanted, and gives the topology.
func (t Topology) apply(ctx context.Context, nc *nats.Conn, d Domain, ackWait time.Duration) (*streams.Topology, error) {
	topology, err := streams.LoadTopology(t.Streams)
	if err != nil || !t.ManageAssets {
		return topology, err
	}
	js, err := d.jetStream(nc)
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	if _, err := topology.Apply(ctx, js, streams.ApplyOptions{AckWait: ackWait}); err != nil {
		return nil, err
	}
	return topology, nil
}

// keep sets the streams up again after each reconnect, until the function it
// gives is called: a server that was started anew has lost what it keeps in
// memory.
func (t Topology) keep(ctx context.Context, nc *nats.Conn, d Domain, cfg orchestrator.Config) (stop func()) {
	connected := nc.StatusChanged(nats.CONNECTED)
	var keeper sync.WaitGroup
	keeper.Go(func() {
		for range connected {
			if _, err := t.apply(ctx, nc, d, cfg.AckWait); err != nil && ctx.Err() == nil && cfg.Log != nil {
				cfg.Log.Warn("streams not set up again after a reconnect", "error", err)
			}
		}
	})
	return func() {
		nc.RemoveStatusListener(connected)
		keeper.Wait()
	}
}

// RunOrchestrator is [Domain.RunOrchestrator] in the server's own domain.
func RunOrchestrator(
	ctx context.Context, nc *nats.Conn, t Topology, cfg orchestrator.Config, models orchestrator.Models, ready func(),
) error {
	return Domain("").RunOrchestrator(ctx, nc, t, cfg, models, ready)
}

// RunOrchestrator runs an orchestrator until ctx ends. Ready is called when the
// streams are there and it begins; it may be nil. A clock that does not agree
// with the server's is a [*streams.ClockError].
func (d Domain) RunOrchestrator(
	ctx context.Context, nc *nats.Conn, t Topology, cfg orchestrator.Config, models orchestrator.Models, ready func(),
) error {
	topology, err := t.apply(ctx, nc, d, cfg.AckWait)
	if err != nil {
		return err
	}
	if t.ManageAssets {
		defer t.keep(ctx, nc, d, cfg)()
	}
	options := streams.Options{Topology: topology, AckWait: cfg.AckWait, Domain: string(d)}
	bus, err := streams.Open(ctx, nc, options)
	if err != nil {
		return err
	}
	defer bus.Close()
	clock := cfg.Clock
	if clock == nil {
		clock = time.Now
	}
	if err := streams.CheckClock(ctx, nc, options, clock); err != nil {
		return err
	}
	ports, models, err := orchestratorPoints(portsOf(bus), models)
	if err != nil {
		return err
	}
	o, err := orchestrator.New(cfg, ports, models)
	if err != nil {
		return err
	}
	defer watch(ctx, nc, options, cfg)()
	if ready != nil {
		ready()
	}
	return ended(ctx, o.Run(ctx))
}

// portsOf is the bus as an orchestrator uses it.
func portsOf(bus *streams.Bus) orchestrator.Bus {
	return orchestrator.Bus{
		Log: bus.Log, Commands: bus.Commands, Work: bus.Work, Timers: bus.Timers, Requests: bus.Requests,
		Signals: bus.Signals, Feed: bus.Feed, Blobs: bus.Blobs, Tools: bus.Tools, Agents: bus.Agents, Skills: bus.Skills, Snapshots: bus.Snapshots, Dead: bus.Dead,
	}
}

// RunTools is [Domain.RunTools] in the server's own domain.
func RunTools(ctx context.Context, nc *nats.Conn, cfg toolrunner.Config, tools []toolrunner.Tool) error {
	return Domain("").RunTools(ctx, nc, cfg, tools)
}

// RunTools runs a tool runner until ctx ends.
func (d Domain) RunTools(ctx context.Context, nc *nats.Conn, cfg toolrunner.Config, tools []toolrunner.Tool) error {
	bus, err := streams.OpenRunner(nc, streams.Options{AckWait: cfg.AckWait, Domain: string(d)})
	if err != nil {
		return err
	}
	defer bus.Close()
	ports, tools, err := runnerPoints(bus, tools)
	if err != nil {
		return err
	}
	r, err := toolrunner.New(cfg, ports, tools)
	if err != nil {
		return err
	}
	return ended(ctx, r.Run(ctx))
}

// ended is err, unless it only says that ctx has ended: that is how a part stops.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil
	}
	return err
}
