package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/projections"
)

// artifactsCommand is `everturn artifacts`.
type artifactsCommand struct {
	remote
	oneChat

	JSON   bool `help:"Print each artifact as one JSON object."`
	Branch int  `placeholder:"TURN" help:"Those up to the end of that turn, whatever branch is selected; everturn branch list names them."`
}

// Run implements the command.
func (c *artifactsCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		q := projections.TranscriptRequest{Chat: string(c.Chat), Branch: c.Branch}
		return pages(ctx, cl, q, func(page projections.Transcript) error {
			return s.artifacts(page, c.JSON)
		})
	})
}

// listedArtifact is a line of the list.
type listedArtifact struct {
	events.Artifact

	Call events.CallID `json:"call"`
}

// artifacts prints what the calls of a page made for people to keep.
func (s *surroundings) artifacts(page projections.Transcript, asJSON bool) error {
	out := json.NewEncoder(s.stdout)
	for _, m := range page.Messages {
		for _, p := range m.Parts {
			if p.Call == nil {
				continue
			}
			for _, a := range p.Call.Artifacts {
				var err error
				if asJSON {
					err = out.Encode(listedArtifact{a, p.Call.ID})
				} else {
					_, err = fmt.Fprintln(s.stdout, projections.ArtifactLine(a))
				}
				if err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// downloadCommand is `everturn download`.
type downloadCommand struct {
	remote

	Chat   chatName `arg:"" help:"Which chat."`
	Digest string   `arg:"" placeholder:"SHA256:…" help:"Which content, as transcript and artifacts name it."`
	Out    string   `placeholder:"FILE" help:"Where to write; a file of that name is replaced, a pipe or a device is written to. Default, and -: standard output."`
}

// Run implements the command.
func (c *downloadCommand) Run(s *surroundings) error {
	digest := events.Digest(c.Digest)
	if !digest.Valid() {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%.80q is no digest: want sha256: and 64 of 0-9 and a-f, as everturn artifacts prints it", c.Digest))
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		content, err := cl.Download(ctx, string(c.Chat), digest)
		if no, ok := errors.AsType[*client.QueryError](err); ok && no.Code == events.CodeBadCommand {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s has no such content: %w", c.Chat, err))
		}
		if err != nil {
			return err
		}
		write := func(w io.Writer) error {
			_, err := w.Write(content)
			return err
		}
		if c.Out == "" || c.Out == standardStream {
			return write(s.stdout)
		}
		return writeFile(c.Out, write)
	})
}
