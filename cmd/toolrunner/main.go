// Command toolrunner executes tools for Everturn against any NATS.
package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"time"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
	"github.com/everturn/everturn/toolrunner/mcp"
	"github.com/everturn/everturn/toolrunner/sandbox"
	"github.com/everturn/everturn/toolrunner/tools"
)

const (
	name        = "toolrunner"
	description = "Executes tools for Everturn: takes calls of one group, asks for a licence before each, and reports what came of it."
)

func main() {
	launcher := sandbox.Enter()
	cli.Main(name, cli.RunnerHeadroom, func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return run(ctx, launcher, args, stdout, stderr)
	})
}

// grammar is every flag of the command.
type grammar struct {
	cli.Service
	toolrunner.Config
	tools.CommandConfig
	tools.FetchConfig
	declared.Files
	mcp.Flags

	Workspace string `type:"existingdir" default:"." help:"Folder the file tools may read. Nothing outside of it can be reached."`
	Write     bool   `help:"Also offer write_file, edit_file, move_file and delete_file, which change files of that folder: each call waits until somebody approves it, unless the chat's mode is full."`
	Ledger    string `placeholder:"FILE" help:"Also offer the test tools: wait, and append_ledger, which appends a line to this file for each of its effects."`
}

// run is the whole command but for the end of the process, which it leaves to its
// caller.
func run(ctx context.Context, launcher sandbox.Launcher, args []string, stdout, stderr io.Writer) (err error) {
	var g grammar
	if _, err := cli.Parse(&g, name, description, args, stdout, stderr); err != nil {
		return err
	}
	workspace, err := tools.OpenWorkspace(g.Workspace)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	defer func() { err = errors.Join(err, workspace.Close()) }()
	offered := tools.Standard(workspace, time.Now)
	if g.Write {
		offered = append(offered, tools.Writing(workspace)...)
	}
	if g.Ledger != "" {
		offered = append(offered, tools.AppendLedger(g.Ledger), tools.Wait())
	}
	commands, err := g.CommandConfig.Open(ctx, launcher, g.Workspace)
	if err != nil {
		return err
	}
	fetching, err := g.FetchConfig.Open()
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	offered = slices.Concat(offered, commands, fetching)
	own, err := g.Files.Open(ctx, launcher, offered, declared.Options{Workspace: g.Workspace, Off: g.Off()})
	if bad, ok := errors.AsType[*declared.FileError](err); ok {
		return cli.Exit(cli.ExitUsage, bad)
	}
	if err != nil {
		return err
	}
	offered = append(offered, own...)
	return g.Serve(ctx, name, stderr, func(r cli.Running) error {
		g.Config.Log, g.Config.Meter, g.Config.Tracer = r.Log, r.Meter, r.Tracer
		servers, err := g.Flags.Open(ctx, launcher, g.Workspace, g.Sandbox, r.Log)
		if err != nil {
			return err
		}
		g.Sources = servers.Sources()
		return parts.Domain(g.JSDomain).RunTools(ctx, r.NATS, g.Config, offered)
	})
}
