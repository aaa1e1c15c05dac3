// Command orchestrator moves chats forward against any NATS: it decides
// commands, asks models, and takes the results of tools.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/models"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/systemd"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

const (
	name        = "orchestrator"
	description = "Moves chats of Everturn forward. Run as many as you like: each chat is worked on by one at a time, and any of them can be killed at any moment."
)

func main() { cli.Main(name, cli.ServiceHeadroom, run) }

// grammar is every flag of the command.
type grammar struct {
	cli.Service
	parts.Topology
	models.Source
	orchestrator.Config
}

// run is the whole command but for the end of the process, which it leaves to its
// caller.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	var g grammar
	if _, err := cli.Parse(&g, name, description, args, stdout, stderr); err != nil {
		return err
	}
	set, err := g.Source.Load()
	_, bad := streams.LoadTopology(g.Streams) // before anything is touched
	if err := errors.Join(err, bad); err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	return g.Serve(ctx, name, stderr, func(r cli.Running) error {
		if set.Note != "" {
			r.Log.Warn(set.Note)
		}
		g.Config.Log, g.Config.Meter, g.Config.Tracer = r.Log, r.Meter, r.Tracer
		g.Source.Configure(&g.Config, set)
		return parts.Domain(g.JSDomain).RunOrchestrator(ctx, r.NATS, g.Topology, g.Config, set.Find, func() {
			if err := systemd.Ready(ctx); err != nil {
				r.Log.Warn("not told that we are ready", "error", err)
			}
		})
	})
}
