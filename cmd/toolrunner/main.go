// Command toolrunner executes tools for Everturn against any NATS.
package main

import (
	"context"
	"errors"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

const description = "Executes tools for Everturn: takes calls of one group, asks for a licence before each, and reports what came of it."

// Set by the linker in a release.
var (
	version = "0.0.0-development"
	commit  = ""
	date    = ""
)

func main() { cli.Main("toolrunner", run) }

// grammar is every flag of the command.
type grammar struct {
	cli.VersionFlag
	cli.LogFlags
	cli.MetricsFlags
	connect.Flags
	toolrunner.Config

	Workspace string `type:"existingdir" default:"." help:"Folder the file tools may read. Nothing outside of it can be reached."`
	Ledger    string `placeholder:"FILE" help:"Also offer the test tools: wait, and append_ledger, which appends a line to this file for each of its effects."`
}

// run is the whole command but for the end of the process, which it leaves to its
// caller.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) (err error) {
	var g grammar
	variables := []kong.Option{kong.Vars{"log_level": "INFO"}, cli.Version("toolrunner", version, commit, date)}
	if _, err := cli.Parse(&g, "toolrunner", description, args, stdout, stderr, variables...); err != nil {
		return err
	}
	workspace, err := tools.OpenWorkspace(g.Workspace)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	defer func() { err = errors.Join(err, workspace.Close()) }()
	offered := tools.Standard(workspace, time.Now)
	if g.Ledger != "" {
		offered = append(offered, tools.AppendLedger(g.Ledger), tools.Wait())
	}
	g.Config.Log = g.LogFlags.Logger(stderr)
	g.Flags.Logger = g.Config.Log
	meter, stop, err := g.MetricsFlags.Meter(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stop()) }()
	g.Config.Meter = meter

	nc, err := g.Connect("toolrunner")
	if err != nil {
		return err
	}
	defer nc.Close() // the runner has settled everything it had in hand by then
	return parts.Domain(g.JSDomain).RunTools(ctx, nc, g.Config, offered)
}
