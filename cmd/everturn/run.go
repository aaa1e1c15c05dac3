package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
)

// runCommand is `everturn run`.
type runCommand struct {
	everythingFlags

	Store string        `type:"path" placeholder:"DIR" help:"Keep the data here. Default: a new folder that is removed at the end."`
	Wait  time.Duration `default:"5m" help:"How long the turn may take."`
	Text  []string      `arg:"" help:"What to say; - reads standard input."`
}

// Run implements the command.
func (c *runCommand) Run(s *surroundings) (err error) {
	said, err := text(c.Text)
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
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	all, err := c.start(s.ctx, s, server)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, all.stop()) }()
	nc, err := server.Connect("everturn run")
	if err != nil {
		return err
	}
	defer nc.Close()
	ctx, cancel := context.WithTimeout(s.ctx, c.Wait)
	defer cancel()
	return s.oneTurn(ctx, client.New(nc, "", os.Getenv("USER")), said)
}

// oneTurn says something in a new chat, shows the turn while it happens, and
// then the transcript.
func (s *surroundings) oneTurn(ctx context.Context, c *client.Client, said string) error {
	chat := client.NewID()
	if err := ensureChat(ctx, c, chat); err != nil {
		return err
	}
	watching := make(chan struct{})
	ended := make(chan error, 1)
	view := &liveView{out: s.stdout}
	go func() {
		ended <- c.Watch(ctx, chat, func() { close(watching) }, view.see)
	}()
	select {
	case <-watching:
	case err := <-ended:
		return err
	}
	send := protocol.Send{V: protocol.Version, Parts: []events.Part{events.Text(said)}}
	if _, err := c.Command(ctx, chat, send); err != nil {
		return err
	}
	if err := <-ended; err != nil {
		return err
	}
	fmt.Fprintf(s.stdout, "\n\n--- transcript of %s ---\n", chat)
	if err := s.transcript(ctx, c, projections.TranscriptRequest{Chat: chat}, false); err != nil {
		return err
	}
	if view.failed != "" {
		return cli.Exit(cli.ExitProvider, errors.New(view.failed))
	}
	return nil
}
