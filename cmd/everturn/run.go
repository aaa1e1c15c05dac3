package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/projections"
)

// runCommand is `everturn run`.
type runCommand struct {
	everythingFlags
	attachFlags

	Store string   `type:"path" placeholder:"DIR" help:"Keep the data here. Default: a new folder that is removed at the end."`
	Wait  patience `default:"5m" help:"How long the turn may take."`
	JSON  bool     `help:"Print what happens, and then the transcript, as JSON: one object a line."`
	Text  []string `arg:"" help:"What to say; - reads standard input."`
}

// Run implements the command.
func (c *runCommand) Run(s *surroundings) (err error) {
	said, err := s.text(c.Text)
	if err != nil {
		return err
	}
	attachments, err := c.attachments()
	if err != nil {
		return err
	}
	store := c.Store
	if store == "" {
		if store, err = os.MkdirTemp("", "everturn-run-"); err != nil {
			return fmt.Errorf("store: %w", err)
		}
		defer func() { err = errors.Join(err, os.RemoveAll(store)) }()
	}
	server, err := embedded.Start(s.ctx, embedded.Options{Store: store, InProcess: true, Logger: s.log.Logger(s.stderr)})
	if err != nil {
		return misplaced(err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	all, err := c.start(s.ctx, s, server, nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	nc, err := server.Connect("everturn run")
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := awaitServers(s, nc, all.servers); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Wait))
	defer cancel()
	return c.oneTurn(ctx, s, client.New(nc, "", os.Getenv("USER")), said, attachments)
}

// oneTurn says something in a new chat, shows the turn while it happens, and
// then the transcript.
func (c *runCommand) oneTurn(ctx context.Context, s *surroundings, cl *client.Client, said string, attachments []client.Attachment) error {
	chat, err := cl.Ensure(ctx, "")
	if err != nil {
		return err
	}
	var view viewer = &liveView{out: s.stdout}
	if c.JSON {
		view = jsonView{json.NewEncoder(s.stdout)}
	}
	turn, err := cl.Say(ctx, chat, said, view.see, attachments...)
	if errors.Is(err, context.DeadlineExceeded) && s.ctx.Err() == nil {
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("the turn has not ended within %s; --wait gives it more time", c.Wait))
	}
	if err != nil {
		return err
	}
	if !c.JSON {
		fmt.Fprintf(s.stdout, "\n--- transcript of %s ---\n", chat)
	}
	if err := s.transcript(ctx, cl, projections.TranscriptRequest{Chat: chat}, c.JSON); err != nil {
		return err
	}
	if why := failed(turn); why != "" {
		return cli.Exit(cli.ExitProvider, errors.New(why))
	}
	return nil
}
