package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/streams"
)

// streamsCommand is `everturn streams`.
type streamsCommand struct {
	Print   streamsPrint   `cmd:"" help:"Print the streams that are to be."`
	Diff    streamsDiff    `cmd:"" help:"Say what apply would do."`
	Apply   streamsApply   `cmd:"" help:"Make the server have them: creates, grows, never shrinks or deletes unasked."`
	Restore streamsRestore `cmd:"" help:"Make them of a backup, on a server or cluster that nobody uses yet."`
	Close   streamsClose   `cmd:"" help:"End what is open in every chat, after a restore beside an installation that still works."`
}

// topologyFlags name the streams.yaml.
type topologyFlags struct {
	File string `type:"existingfile" placeholder:"FILE" help:"A streams.yaml in place of the one in this binary."`
}

func (f topologyFlags) load() (*streams.Topology, error) {
	return streams.LoadTopology(f.File)
}

type streamsPrint struct {
	topologyFlags

	Replicas int  `enum:"1,3,5" default:"1" help:"With --json: for how many replicas."`
	JSON     bool `help:"Print each stream as the JSON that 'nats stream add --config' takes."`
}

// Run implements the command.
func (c *streamsPrint) Run(s *surroundings) error {
	t, err := c.load()
	if err != nil {
		return err
	}
	if !c.JSON {
		return t.Print(s.stdout)
	}
	out := json.NewEncoder(s.stdout)
	for _, config := range t.StreamConfigs(c.Replicas) {
		if err := out.Encode(config); err != nil {
			return err
		}
	}
	return nil
}

type streamsDiff struct {
	remote
	topologyFlags

	JSON bool `help:"Print each change as one JSON object."`
}

// Run implements the command.
func (c *streamsDiff) Run(s *surroundings) error {
	t, err := c.load()
	if err != nil {
		return err
	}
	return c.jetStream(s, func(ctx context.Context, js jetstream.JetStream) error {
		plan, err := t.Diff(ctx, js, streams.ApplyOptions{})
		if err != nil {
			return err
		}
		return s.plan(plan, "nothing to do", c.JSON)
	})
}

type streamsApply struct {
	remote
	topologyFlags

	JSON   bool `help:"Print each change as one JSON object."`
	Shrink bool `help:"Also make smaller what the server has larger."`
	Repair bool `help:"Also take away what could delete commits from a log: an age limit, or discarding the oldest."`
}

// Run implements the command.
func (c *streamsApply) Run(s *surroundings) error {
	t, err := c.load()
	if err != nil {
		return err
	}
	return c.jetStream(s, func(ctx context.Context, js jetstream.JetStream) error {
		plan, err := t.Apply(ctx, js, streams.ApplyOptions{Shrink: c.Shrink, Repair: c.Repair})
		if err != nil && len(plan) == 0 {
			return err
		}
		return errors.Join(err, s.plan(plan, "nothing to do", c.JSON))
	})
}

type streamsRestore struct {
	remote
	topologyFlags

	Backup string `arg:"" type:"existingdir" help:"The folder of the backup, with one for each stream, as 'nats stream backup' writes them."`
	JSON   bool   `help:"Print each stream as one JSON object."`
}

// Run implements the command. It takes as long as it takes.
func (c *streamsRestore) Run(s *surroundings) error {
	t, err := c.load()
	if err != nil {
		return err
	}
	return c.connected(s, func(nc *nats.Conn, _ *client.Client) error {
		js, err := c.JetStream(nc)
		if err != nil {
			return fmt.Errorf("jetstream: %w", err)
		}
		return t.Restore(s.ctx, js, c.Backup, func(r streams.Restored) { s.restored(r, c.JSON) })
	})
}

// restored tells of a stream. That it cannot be told is no reason to stop halfway.
func (s *surroundings) restored(r streams.Restored, asJSON bool) {
	if asJSON {
		_ = json.NewEncoder(s.stdout).Encode(struct {
			Stream   string `json:"stream"`
			Messages uint64 `json:"messages"`
			Last     uint64 `json:"last_sequence"`
			Before   bool   `json:"was_there,omitempty"`
		}(r))
		return
	}
	what := "restored"
	if r.Before {
		what = "is there already:"
	}
	fmt.Fprintf(s.stdout, "%s %s: %d messages, last sequence %d\n", what, r.Stream, r.Messages, r.Last)
}

type streamsClose struct {
	remote

	JSON bool `help:"Print each chat as one JSON object."`
}

// Run implements the command. It takes as long as it takes.
func (c *streamsClose) Run(s *surroundings) error {
	return c.connected(s, func(nc *nats.Conn, _ *client.Client) error {
		closed := 0
		err := parts.Domain(c.JSDomain).CloseRestored(s.ctx, nc, func(k events.Key) {
			closed++
			if c.JSON {
				_ = json.NewEncoder(s.stdout).Encode(struct {
					Tenant string `json:"tenant"`
					Chat   string `json:"chat"`
				}{k.Tenant, k.Chat})
				return
			}
			fmt.Fprintf(s.stdout, "%s: what was open is closed\n", k)
		})
		if errors.Is(err, parts.ErrOrchestrated) {
			return cli.Exit(cli.ExitConflict, err)
		}
		if err == nil && closed == 0 && !c.JSON {
			fmt.Fprintln(s.stdout, "nothing is open")
		}
		return err
	})
}

func (r *remote) jetStream(s *surroundings, do func(ctx context.Context, js jetstream.JetStream) error) error {
	return r.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		js, err := r.JetStream(nc)
		if err != nil {
			return fmt.Errorf("jetstream: %w", err)
		}
		return do(ctx, js)
	})
}

// change is a step of a plan as JSON.
type change struct {
	Action   streams.Action `json:"action"`
	Stream   string         `json:"stream"`
	Consumer string         `json:"consumer,omitempty"`
	Fields   []field        `json:"fields,omitempty"`
	Why      string         `json:"why,omitempty"`
}

type field struct {
	Name string `json:"name"`
	From string `json:"from"`
	To   string `json:"to"`
}

func (s *surroundings) plan(p streams.Plan, none string, asJSON bool) error {
	if asJSON {
		out := json.NewEncoder(s.stdout)
		for _, c := range p {
			line := change{Action: c.Action, Stream: c.Stream, Consumer: c.Consumer, Why: c.Why}
			for _, f := range c.Fields {
				line.Fields = append(line.Fields, field(f))
			}
			if err := out.Encode(line); err != nil {
				return err
			}
		}
		return nil
	}
	line := p.String()
	if line == "" {
		line = none
	}
	_, err := fmt.Fprintln(s.stdout, line)
	return err
}
