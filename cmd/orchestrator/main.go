// Command orchestrator moves chats forward against any NATS: it decides
// commands, asks models, and takes the results of tools.
package main

import (
	"context"
	"errors"
	"io"

	"github.com/alecthomas/kong"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/models"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/systemd"
	"github.com/everturn/everturn/orchestrator"
)

const description = "Moves chats of Everturn forward. Run as many as you like: each chat is worked on by one at a time, and any of them can be killed at any moment."

// Set by the linker in a release.
var (
	version = "0.0.0-development"
	commit  = ""
	date    = ""
)

func main() { cli.Main("orchestrator", run) }

// grammar is every flag of the command.
type grammar struct {
	cli.VersionFlag
	cli.LogFlags
	cli.MetricsFlags
	connect.Flags
	parts.Topology
	models.Source
	orchestrator.Config
}

// run is the whole command but for the end of the process, which it leaves to its
// caller.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var g grammar
	variables := []kong.Option{kong.Vars{"log_level": "INFO"}, cli.Version("orchestrator", version, commit, date)}
	if _, err := cli.Parse(&g, "orchestrator", description, args, stdout, stderr, variables...); err != nil {
		return err
	}
	set, err := g.Source.Load()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	g.Config.Log = g.LogFlags.Logger(stderr)
	g.Source.Configure(&g.Config, set)
	if set.Note != "" {
		g.Config.Log.Warn(set.Note)
	}
	g.Flags.Logger = g.Config.Log
	meter, stop, err := g.MetricsFlags.Meter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	g.Config.Meter = meter

	nc, err := g.Connect("orchestrator")
	if err != nil {
		return err
	}
	defer nc.Close() // the orchestrator has settled everything it had in hand by then
	return parts.Domain(g.JSDomain).RunOrchestrator(ctx, nc, g.Topology, g.Config, set.Find, func() {
		if err := systemd.Ready(ctx); err != nil {
			g.Config.Log.Warn("not told that we are ready", "error", err)
		}
	})
}
