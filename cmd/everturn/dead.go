package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"

	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// deadCommand is `everturn dead`.
type deadCommand struct {
	List    deadList    `cmd:"" help:"List the commands that nobody could decide."`
	Show    deadShow    `cmd:"" help:"Show one whole."`
	Redrive deadRedrive `cmd:"" help:"Have one decided again, and drop its letter."`
	Drop    deadDrop    `cmd:"" help:"Delete one for good."`
}

// commandID is the id of a command.
type commandID string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (c *commandID) UnmarshalText(text []byte) error {
	id, err := ulid.ParseStrict(string(text))
	if err != nil || id.String() != string(text) {
		return fmt.Errorf("%q is no id of a command: want a ULID in upper case", text)
	}
	*c = commandID(text)
	return nil
}

// letter is what is told of a command that was set aside, as JSON.
type letter struct {
	Tenant   string      `json:"tenant"`
	Chat     string      `json:"chat"`
	Command  string      `json:"command"`
	Verb     string      `json:"verb"`
	By       string      `json:"by,omitempty"`
	Why      string      `json:"why"`
	At       events.Time `json:"at"`
	Times    int         `json:"times"`
	Tries    int         `json:"tries,omitempty"`
	Sequence uint64      `json:"sequence"`
	Bytes    int         `json:"bytes"`
}

func letterOf(l streams.Letter) letter {
	return letter{
		Tenant: l.Key.Tenant, Chat: l.Key.Chat, Command: l.Command, Verb: l.Verb, By: l.By, Why: l.Why,
		At: events.At(l.At), Times: l.Times, Tries: l.Tries, Sequence: l.Sequence, Bytes: l.Bytes,
	}
}

type deadList struct {
	remote

	Chat chatName `arg:"" optional:"" help:"Which chat. Default: every chat of every tenant."`
	JSON bool     `help:"Print each as one JSON object."`
}

// Run implements the command.
func (c *deadList) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		letters, err := streams.OpenLetters(nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer letters.Close()
		of := events.Key{Tenant: protocol.Any, Chat: protocol.Any}
		if c.Chat != "" {
			of = cl.Key(string(c.Chat))
		}
		all, err := letters.List(ctx, of)
		if err != nil {
			return err
		}
		if c.JSON {
			out := json.NewEncoder(s.stdout)
			for _, l := range all {
				err = errors.Join(err, out.Encode(letterOf(l)))
			}
			return err
		}
		return s.letters(all)
	})
}

// letters prints a table for people.
func (s *surroundings) letters(all []streams.Letter) error {
	if len(all) == 0 {
		_, err := fmt.Fprintln(s.stderr, "nothing was set aside")
		return err
	}
	table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "CHAT\tCOMMAND\tVERB\tWHEN\tTIMES\tWHY")
	for _, l := range all {
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%d\t%s\n",
			l.Key, l.Command, l.Verb, l.At.Local().Format(time.RFC3339), l.Times, shorten(printable(l.Why)))
	}
	return table.Flush()
}

// printable is text without orders to a terminal: what a client wrote may hold them.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) && r != '\n' {
			return unicode.ReplacementChar
		}
		return r
	}, text)
}

// oneLetter are the flags of commands about one letter.
type oneLetter struct {
	remote

	Command commandID `arg:"" name:"command" help:"Id of the command, as the list has it."`
	Chat    chatName  `help:"Of which chat of the tenant: needed only if commands of several have this id."`
	JSON    bool      `help:"Print the outcome as one JSON object."`
}

// with calls do with the letter.
func (c *oneLetter) with(s *surroundings, do func(context.Context, *nats.Conn, *streams.Letters, streams.Letter) error) error {
	return c.remote.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		letters, err := streams.OpenLetters(nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer letters.Close()
		l, err := c.find(ctx, letters, cl)
		if err != nil {
			return err
		}
		return do(ctx, nc, letters, l)
	})
}

// find looks for the letter, in all chats unless one is named.
func (c *oneLetter) find(ctx context.Context, letters *streams.Letters, cl *client.Client) (streams.Letter, error) {
	of := events.Key{Tenant: protocol.Any, Chat: protocol.Any}
	if c.Chat != "" {
		of = cl.Key(string(c.Chat))
	}
	all, err := letters.List(ctx, of)
	if err != nil {
		return streams.Letter{}, err
	}
	var found []streams.Letter
	for _, l := range all {
		if l.Command == string(c.Command) {
			found = append(found, l)
		}
	}
	switch len(found) {
	case 0:
		return streams.Letter{}, cli.Exit(cli.ExitNotFound, fmt.Errorf("command %s was not set aside, or its letter was dropped", c.Command))
	case 1:
		return found[0], nil
	}
	return streams.Letter{}, cli.Exit(cli.ExitUsage,
		fmt.Errorf("commands of %d chats have the id %s: name one with --tenant and --chat, such as %s", len(found), c.Command, found[0].Key))
}

type deadShow struct{ oneLetter }

// Run implements the command.
func (c *deadShow) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, letters *streams.Letters, l streams.Letter) error {
		body, err := letters.Body(ctx, l)
		if err != nil {
			return err
		}
		if c.JSON {
			shown := struct {
				letter
				Body    json.RawMessage `json:"body,omitempty"`
				NotJSON []byte          `json:"not_json,omitempty"` // of somebody else's making
			}{letter: letterOf(l)}
			if json.Valid(body) {
				shown.Body = body
			} else {
				shown.NotJSON = body
			}
			return json.NewEncoder(s.stdout).Encode(shown)
		}
		fmt.Fprintf(s.stderr, "command %s (%s) of chat %s, by %q\nset aside at %s, %d times: %s\nit was message %d on %s\n",
			l.Command, l.Verb, l.Key, l.By, l.At.Local().Format(time.RFC3339), l.Times, printable(l.Why), l.Sequence, printable(l.Subject))
		_, err = fmt.Fprintln(s.stdout, printable(string(body)))
		return err
	})
}

type deadDrop struct{ oneLetter }

// Run implements the command.
func (c *deadDrop) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, letters *streams.Letters, l streams.Letter) error {
		if err := letters.Drop(ctx, l); err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(letterOf(l))
		}
		_, err := fmt.Fprintf(s.stderr, "dropped command %s of chat %s\n", l.Command, l.Key)
		return err
	})
}
