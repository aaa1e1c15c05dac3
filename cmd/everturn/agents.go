package main

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/agents"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/streams"
)

// agentsCommand is `everturn agents`.
type agentsCommand struct {
	List   agentsList   `cmd:"" default:"withargs" help:"Show the agents of the tenant."`
	Show   agentsShow   `cmd:"" help:"Print an agent as apply takes it."`
	Apply  agentsApply  `cmd:"" help:"Keep the agents of a file, in place of those of the same names."`
	Remove agentsRemove `cmd:"" help:"Take an agent away. Turns of chats that name it fail from then on."`
}

// namedSettings is an agent as JSON.
type namedSettings struct {
	Name     string          `json:"name"`
	Settings events.Settings `json:"settings"`
}

// agents calls do with what keeps the agents, and with those there are.
func (r *remote) agents(s *surroundings, do func(ctx context.Context, kept *streams.Agents, all map[string]events.Settings) error) error {
	return r.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: r.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		all, err := reader.Agents.List(ctx, string(r.Tenant))
		if err != nil {
			return fmt.Errorf("list the agents: %w", err)
		}
		return do(ctx, reader.Agents, all)
	})
}

type agentsList struct {
	remote

	JSON bool `help:"Print each agent as one JSON object."`
}

// Run implements the command.
func (c *agentsList) Run(s *surroundings) error {
	return c.agents(s, func(_ context.Context, _ *streams.Agents, all map[string]events.Settings) error {
		names := slices.Sorted(maps.Keys(all))
		if c.JSON {
			out := json.NewEncoder(s.stdout)
			for _, name := range names {
				if err := out.Encode(namedSettings{name, all[name]}); err != nil {
					return err
				}
			}
			return nil
		}
		table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tMODEL\tTOOLS\tAPPROVAL\tSYSTEM")
		for _, name := range names {
			a := all[name]
			tools := "all"
			if a.Tools != nil {
				tools = strings.Join(*a.Tools, ",")
				if tools == "" {
					tools = noTools
				}
			}
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", name, orDash(a.Model), tools, orDash(string(a.Approval)), orDash(shorten(a.System)))
		}
		return table.Flush()
	})
}

type agentsShow struct {
	remote

	Name string `arg:"" help:"Which agent."`
	JSON bool   `help:"Print it as one JSON object."`
}

// Run implements the command.
func (c *agentsShow) Run(s *surroundings) error {
	return c.agents(s, func(_ context.Context, _ *streams.Agents, all map[string]events.Settings) error {
		settings, err := named(all, c.Name)
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(namedSettings{c.Name, settings})
		}
		text, err := agents.Format([]agents.Agent{agents.Of(c.Name, settings)})
		if err != nil {
			return fmt.Errorf("agent %s: %w", c.Name, err)
		}
		_, err = s.stdout.Write(text)
		return err
	})
}

// named is the agent of that name.
func named(all map[string]events.Settings, name string) (events.Settings, error) {
	settings, ok := all[name]
	if !ok {
		return events.Settings{}, cli.Exit(cli.ExitNotFound, fmt.Errorf("there is no agent %.80q; `everturn agents list` shows those there are", name))
	}
	return settings, nil
}

type agentsApply struct {
	remote

	File string `arg:"" type:"existingfile" placeholder:"FILE" help:"The agents, as YAML."`
	JSON bool   `help:"Print what became of each agent as one JSON object."`
}

// Run implements the command. Agents that are not in the file stay as they are.
func (c *agentsApply) Run(s *surroundings) error {
	list, err := agents.Load(c.File)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	return c.agents(s, func(ctx context.Context, kept *streams.Agents, all map[string]events.Settings) error {
		for _, a := range list {
			settings, action := a.Settings(), "created"
			if old, known := all[a.Name]; known {
				action = "changed"
				if reflect.DeepEqual(old, settings) {
					action = "unchanged"
				}
			}
			if action != "unchanged" {
				if err := kept.Put(ctx, string(c.Tenant), a.Name, settings); err != nil {
					return err
				}
			}
			if err := s.became(a.Name, action, c.JSON); err != nil {
				return err
			}
		}
		return nil
	})
}

type agentsRemove struct {
	remote

	Name string `arg:"" help:"Which agent."`
	JSON bool   `help:"Print what became of it as one JSON object."`
}

// Run implements the command.
func (c *agentsRemove) Run(s *surroundings) error {
	return c.agents(s, func(ctx context.Context, kept *streams.Agents, all map[string]events.Settings) error {
		if _, err := named(all, c.Name); err != nil {
			return err
		}
		if err := kept.Delete(ctx, string(c.Tenant), c.Name); err != nil {
			return err
		}
		return s.became(c.Name, "removed", c.JSON)
	})
}

// became tells what became of an agent.
func (s *surroundings) became(name, action string, asJSON bool) error {
	if asJSON {
		return json.NewEncoder(s.stdout).Encode(struct {
			Name   string `json:"name"`
			Action string `json:"action"`
		}{name, action})
	}
	_, err := fmt.Fprintf(s.stdout, "agent %s: %s\n", name, action)
	return err
}
