package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// logCommand is `everturn log`.
type logCommand struct {
	remote
	oneChat

	JSON bool `help:"Print each commit as it lies in the log, one line each: what verify --file reads."`
}

// Run implements the command.
func (c *logCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		key := cl.Key(string(c.Chat))
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		log := reader.Log
		last, err := log.Last(ctx, key)
		if errors.Is(err, protocol.ErrNotFound) {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s does not exist", key))
		}
		if err != nil {
			return err
		}
		after, err := begin(ctx, log, protocol.Head{Key: key, Sequence: last.Sequence})
		if err != nil {
			return err
		}
		for m, err := range log.Read(ctx, key, after, last.Sequence) {
			if err != nil {
				return err
			}
			if err := s.logLine(m, c.JSON); err != nil {
				return err
			}
		}
		return nil
	})
}

// logLine prints one commit: as it is stored, or as a line for people and one
// for each event.
func (s *surroundings) logLine(m protocol.Stored, asJSON bool) error {
	if asJSON {
		if !json.Valid(m.Body) || bytes.ContainsRune(m.Body, '\n') { // of somebody else's making
			return json.NewEncoder(s.stdout).Encode(map[string]any{"sequence": m.Sequence, "not_a_commit": m.Body})
		}
		_, err := fmt.Fprintf(s.stdout, "%s\n", m.Body)
		return err
	}
	commit, err := events.Decode(m.Body)
	if err != nil {
		_, err := fmt.Fprintf(s.stdout, "seq %d: %v\n", m.Sequence, err)
		return err
	}
	cause := commit.Cause
	var b strings.Builder
	fmt.Fprintf(&b, "rev %d  %s  by %s %s", commit.Rev, commit.At, cause.Kind, cause.ID)
	if cause.Verb != "" {
		fmt.Fprintf(&b, " (%s)", cause.Verb)
	}
	b.WriteByte('\n')
	for _, e := range commit.Events {
		data, err := events.EncodeEvent(e)
		if err != nil {
			return err
		}
		fmt.Fprintf(&b, "  %-27s %s\n", e.EventType(), shorten(string(data)))
	}
	_, err = fmt.Fprint(s.stdout, b.String())
	return err
}

// maxLineChars is how much of an event is shown to people.
const maxLineChars = 200

func shorten(s string) string {
	r := []rune(s)
	if len(r) <= maxLineChars {
		return s
	}
	return string(r[:maxLineChars]) + "…"
}
