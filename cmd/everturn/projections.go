package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/projections/index"
)

// projectionsFolder is where projections keep what they have made, below the store of
// an embedded server.
const projectionsFolder = "projections"

// projectionsCommand is `everturn projections`.
type projectionsCommand struct {
	Serve   projectionsServeCommand   `cmd:"" default:"withargs" help:"Answer queries about chats until stopped; the word can be left out."`
	Rebuild projectionsRebuildCommand `cmd:"" help:"Build what is kept anew, beside what is in use, and change over to it."`
}

// projectionsServeCommand is `everturn projections serve`.
type projectionsServeCommand struct {
	remote

	Store string `type:"path" env:"EVERTURN_PROJECTIONS_STORE" placeholder:"DIR" help:"Keep lists, search and usage here; a folder of this process only. Without it those queries are answered by nobody."`
}

// Run implements the command.
func (c *projectionsServeCommand) Run(s *surroundings) error {
	c.Logger = s.log.Logger(s.stderr)
	nc, err := c.Connect("projections")
	if err != nil {
		return err
	}
	defer nc.Close() // the service has settled everything it had in hand by then
	return readside.RunProjections(s.ctx, nc, readside.Projections{
		Domain: c.JSDomain, Version: cli.Built().Version, Log: c.Logger, Store: c.Store,
	})
}

// projectionsRebuildCommand is `everturn projections rebuild`.
type projectionsRebuildCommand struct {
	remote

	Name  string `arg:"" enum:"index" help:"What to build: index."`
	Store string `type:"path" env:"EVERTURN_PROJECTIONS_STORE" placeholder:"DIR" required:"" help:"The folder that the process keeps it in."`
}

// Run implements the command.
func (c *projectionsRebuildCommand) Run(s *surroundings) error {
	return c.connected(s, func(nc *nats.Conn, _ *client.Client) error {
		return c.rebuild(s.ctx, s, nc)
	})
}

func (c *projectionsRebuildCommand) rebuild(ctx context.Context, s *surroundings, nc *nats.Conn) error {
	read := 0
	err := readside.Projections{Domain: c.JSDomain, Log: c.Logger, Store: c.Store}.Rebuild(ctx, nc, c.Name, func(messages int) {
		read = messages
		fmt.Fprintf(s.stderr, "%d commits\n", messages)
	})
	if errors.Is(err, readside.ErrNoProjection) || errors.Is(err, index.ErrInUse) {
		return cli.Exit(cli.ExitUsage, err)
	}
	if err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "%s is built, of %d commits; a process that keeps it there changes over to it within seconds\n", c.Name, read)
	return nil
}
