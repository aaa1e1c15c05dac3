package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/projections"
)

// transcriptCommand is `everturn transcript`.
type transcriptCommand struct {
	remote

	Chat chatName `arg:"" help:"Which chat."`
	At   string   `placeholder:"REV|TIME" help:"As it was at that rev, or at that time (RFC 3339)."`
	JSON bool     `help:"Print each page as one JSON object."`
}

// Run implements the command.
func (c *transcriptCommand) Run(s *surroundings) error {
	at, err := point(c.At)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		return s.transcript(ctx, cl, projections.TranscriptRequest{Chat: string(c.Chat), At: at}, c.JSON)
	})
}

// point reads a rev or a time; empty is now.
func point(text string) (projections.Point, error) {
	if text == "" {
		return projections.Point{}, nil
	}
	if rev, err := strconv.ParseUint(text, 10, 64); err == nil && rev > 0 {
		return projections.Point{Rev: rev}, nil
	}
	t, err := time.Parse(time.RFC3339Nano, text)
	if err != nil {
		return projections.Point{}, fmt.Errorf("--at %q: want a rev from 1 on, or a time such as 2026-11-29T12:00:00Z", text)
	}
	return projections.Point{Time: events.At(t)}, nil
}

// transcript prints a chat, page by page.
func (s *surroundings) transcript(ctx context.Context, c *client.Client, q projections.TranscriptRequest, asJSON bool) error {
	text := projections.NewTextWriter(s.stdout, time.Local)
	for {
		var page projections.Transcript
		if err := c.Query(ctx, projections.QueryTranscript, q, &page); err != nil {
			return err
		}
		var err error
		if asJSON {
			err = json.NewEncoder(s.stdout).Encode(page)
		} else {
			err = text.WritePage(page)
		}
		if err != nil || page.Next == 0 {
			return err
		}
		q.After = page.Next
		if q.At.IsZero() {
			q.At = projections.Point{Rev: page.Rev} // pages of one moment
		}
	}
}

// projectionsCommand is `everturn projections`.
type projectionsCommand struct {
	remote
}

// Run implements the command.
func (c *projectionsCommand) Run(s *surroundings) error {
	c.Logger = s.log.Logger(s.stderr)
	nc, err := c.Connect("projections")
	if err != nil {
		return err
	}
	defer nc.Close() // the service has settled everything it had in hand by then
	return parts.Domain(c.JSDomain).RunProjections(s.ctx, nc, cli.Built().Version, c.Logger)
}
