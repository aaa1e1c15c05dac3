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
	"github.com/everturn/everturn/projections"
)

// transcriptCommand is `everturn transcript`.
type transcriptCommand struct {
	remote
	oneChat

	At   string `placeholder:"REV|TIME" help:"As it was at that rev, or at that time: RFC 3339, or as a transcript prints it."`
	JSON bool   `help:"Print each page as one JSON object."`

	Branch int `placeholder:"TURN" help:"Up to the end of that turn, whatever branch is selected; everturn branch list names them."`
}

// Run implements the command.
func (c *transcriptCommand) Run(s *surroundings) error {
	at, err := point(c.At)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		if at.Rev != 0 {
			if err := reached(ctx, cl, string(c.Chat), at.Rev); err != nil {
				return err
			}
		}
		return s.transcript(ctx, cl, projections.TranscriptRequest{Chat: string(c.Chat), At: at, Branch: c.Branch}, c.JSON)
	})
}

// reached is an error if a chat has not come to a rev. Asking for the transcript
// would wait for it.
func reached(ctx context.Context, cl *client.Client, chat string, rev uint64) error {
	head, err := cl.Head(ctx, chat)
	if err != nil {
		return err
	}
	if rev > head.Rev {
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("there is no rev %d yet: chat %s has %s", rev, chat, counted(head.Rev, "rev")))
	}
	return nil
}

// counted is a number with what is counted.
func counted[N int | uint64](n N, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// clockText is how a transcript prints a time, in the zone of who reads it.
const clockText = time.DateTime

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
		t, err = time.ParseInLocation(clockText, text, time.Local)
		t = t.Add(time.Second - time.Millisecond) // all that was shown with this second
	}
	if err != nil {
		return projections.Point{}, fmt.Errorf(
			"--at %q: want a rev from 1 on, or a time such as 2026-11-29T12:00:00Z, or \"2026-11-29 13:00:00\" in this machine's zone", text)
	}
	return projections.Point{Time: events.At(t)}, nil
}

// transcript prints a chat, page by page.
func (s *surroundings) transcript(ctx context.Context, c *client.Client, q projections.TranscriptRequest, asJSON bool) error {
	text := projections.NewTextWriter(s.stdout, time.Local)
	return pages(ctx, c, q, func(page projections.Transcript) error {
		if asJSON {
			return json.NewEncoder(s.stdout).Encode(page)
		}
		return text.WritePage(page)
	})
}

// pages reads a transcript page by page, as the chat is when the first one is read.
func pages(ctx context.Context, c *client.Client, q projections.TranscriptRequest, read func(projections.Transcript) error) error {
	for {
		var page projections.Transcript
		if err := c.Query(ctx, projections.QueryTranscript, q, &page); err != nil {
			return err
		}
		if err := read(page); err != nil || page.Next == 0 {
			return err
		}
		q.After = page.Next
		if q.At.IsZero() {
			q.At = projections.Point{Rev: page.Rev} // pages of one moment
		}
	}
}
