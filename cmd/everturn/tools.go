package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

// toolsCommand is `everturn tools`.
type toolsCommand struct {
	List   toolsList   `cmd:"" default:"withargs" help:"Show the tools on offer. One stays there when its runner is gone."`
	Check  toolsCheck  `cmd:"" help:"Say what is wrong with files that declare programs as tools. Nothing is started."`
	Forget toolsForget `cmd:"" help:"Take a tool off the list. A runner that has it offers it again when it starts."`
}

// tools calls do with the registry of tools, and with what is on offer.
func (r *remote) tools(s *surroundings, do func(context.Context, *streams.Tools, []protocol.ToolEntry) error) error {
	return r.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		return withTools(ctx, nc, streams.Options{Domain: r.JSDomain}, do)
	})
}

func withTools(
	ctx context.Context, nc *nats.Conn, o streams.Options, do func(context.Context, *streams.Tools, []protocol.ToolEntry) error,
) error {
	reader, err := streams.OpenReader(ctx, nc, o)
	if err != nil {
		return err
	}
	defer reader.Close()
	all, err := reader.Tools.List(ctx)
	if err != nil {
		return fmt.Errorf("list the tools: %w", err)
	}
	return do(ctx, reader.Tools, all)
}

type toolsList struct {
	remote

	JSON bool `help:"Print each tool as one JSON object."`
}

// offeredTool is a tool on offer, as JSON.
type offeredTool struct {
	events.Tool

	Runner string      `json:"runner"` // that offered it last
	At     events.Time `json:"at"`
}

// Run implements the command.
func (c *toolsList) Run(s *surroundings) error {
	return c.tools(s, func(_ context.Context, _ *streams.Tools, all []protocol.ToolEntry) error {
		out := json.NewEncoder(s.stdout)
		table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		if !c.JSON {
			fmt.Fprintln(table, "NAME\tGROUP\tPOLICY\tOFFERED\tBY")
		}
		for _, e := range all {
			t := e.Manifest.Tool()
			t.Manifest = e.Digest
			if !c.JSON {
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", t.Name, t.Group, t.Policy, e.At, e.Runner)
			} else if err := out.Encode(offeredTool{t, e.Runner, e.At}); err != nil {
				return err
			}
		}
		return table.Flush()
	})
}

type toolsForget struct {
	remote

	Name  string `arg:"" help:"Which tool."`
	Group string `placeholder:"NAME" help:"Of which group, if several have offered one of that name. Default: of all."`
	JSON  bool   `help:"Print what became of it as one JSON object."`
}

// Run implements the command.
func (c *toolsForget) Run(s *surroundings) error {
	return c.tools(s, func(ctx context.Context, kept *streams.Tools, all []protocol.ToolEntry) error {
		gone := slices.DeleteFunc(all, func(e protocol.ToolEntry) bool {
			return e.Manifest.Name != c.Name || c.Group != "" && e.Manifest.Group != c.Group
		})
		if len(gone) == 0 {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("no tool %.80q is on offer; `everturn tools` shows those that are", c.Name))
		}
		if err := forget(ctx, kept, gone); err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(struct {
				Name   string `json:"name"`
				Action string `json:"action"`
			}{c.Name, "forgotten"})
		}
		_, err := fmt.Fprintf(s.stdout, "tool %s: off the list\n", c.Name)
		return err
	})
}

func forget(ctx context.Context, kept *streams.Tools, gone []protocol.ToolEntry) error {
	var errs []error
	for _, e := range gone {
		errs = append(errs, kept.Forget(ctx, e.Manifest.Group, e.Manifest.Name))
	}
	return errors.Join(errs...)
}

// forgetOthers takes the tools of the own group off the list that this process does not
// have: it was started with others before. Runners of one group have the same tools, so
// nobody else has them either. Tools whose names begin with one of foreign belong to
// servers that may not have named theirs yet.
func forgetOthers(ctx context.Context, server *embedded.Server, own []toolrunner.Tool, foreign []string) error {
	nc, err := server.Connect("everturn")
	if err != nil {
		return err
	}
	defer nc.Close()
	return withTools(ctx, nc, streams.Options{}, func(ctx context.Context, kept *streams.Tools, all []protocol.ToolEntry) error {
		return forget(ctx, kept, slices.DeleteFunc(all, func(e protocol.ToolEntry) bool {
			return e.Manifest.Group != toolrunner.DefaultGroup ||
				slices.ContainsFunc(own, func(t toolrunner.Tool) bool { return t.Manifest().Name == e.Manifest.Name }) ||
				slices.ContainsFunc(foreign, func(beginning string) bool { return strings.HasPrefix(e.Manifest.Name, beginning) })
		}))
	})
}
