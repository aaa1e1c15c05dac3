package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/protocol"
)

// remote are the flags of commands that talk to a running installation.
type remote struct {
	connect.Flags

	Tenant tenantName `env:"EVERTURN_TENANT" default:"default" help:"Whose chats."`
	By     string     `env:"EVERTURN_BY" help:"Who says so; stands in the log."`
	Wait   patience   `default:"30s" help:"How long to wait for an answer."`
}

// with calls do with a connection and a client, for at most Wait.
func (r *remote) with(s *surroundings, do func(ctx context.Context, nc *nats.Conn, c *client.Client) error) error {
	return r.connected(s, func(nc *nats.Conn, c *client.Client) error {
		ctx, cancel := context.WithTimeout(s.ctx, time.Duration(r.Wait))
		defer cancel()
		err := do(ctx, nc, c)
		if undecided, ok := errors.AsType[*client.UndecidedError](err); ok {
			return r.undecided(s, undecided)
		}
		if errors.Is(err, context.DeadlineExceeded) && s.ctx.Err() == nil {
			return fmt.Errorf("%w: no answer within %s; --wait gives it more time, `everturn doctor` says what is wrong", err, r.Wait)
		}
		return err
	})
}

// undecided is err in the words of who waits at the command line. Who breaks the
// waiting off gets them too, since a process that was ended tells no error.
func (r *remote) undecided(s *surroundings, err *client.UndecidedError) error {
	if s.ctx.Err() != nil {
		fmt.Fprintf(s.stderr, "everturn: %v\n", err)
		return err
	}
	return cli.Exit(cli.ExitUnreachable,
		fmt.Errorf("%w (nobody has decided it within %s; `everturn doctor` says why)", err, r.Wait))
}

// connected calls do with a connection and a client, for as long as it takes.
func (r *remote) connected(s *surroundings, do func(nc *nats.Conn, c *client.Client) error) error {
	r.Logger = s.log.Logger(s.stderr)
	nc, err := r.Connect("everturn")
	if err != nil {
		return err
	}
	defer nc.Close()
	err = do(nc, client.New(nc, string(r.Tenant), r.By))
	if err != nil && errors.Is(nc.LastError(), nats.ErrPermissionViolation) && !errors.Is(err, client.ErrNotAllowed) {
		return fmt.Errorf("%w: %w (%w)", err, client.ErrNotAllowed, nc.LastError())
	}
	return err
}

// oneChat is the chat that a command is about: its argument, or the flag that
// other commands have for it.
type oneChat struct {
	Chat  chatName `arg:"" optional:"" help:"Which chat."`
	Named chatName `name:"chat" placeholder:"CHAT" help:"The same as the argument."`
}

// Validate is called by kong.
func (c *oneChat) Validate() error {
	switch {
	case c.Chat == "" && c.Named == "":
		return errors.New("which chat? Name it after the command, or with --chat")
	case c.Chat == "":
		c.Chat = c.Named
	case c.Named != "" && c.Named != c.Chat:
		return fmt.Errorf("one chat at a time: not both %s and %s", c.Chat, c.Named)
	}
	return nil
}

// maxInputBytes bounds what is read from standard input.
const maxInputBytes = protocol.MaxCommandBytes

// text is words as one text; a single "-" is standard input.
func (s *surroundings) text(words []string) (string, error) {
	if len(words) != 1 || words[0] != "-" {
		return something(strings.Join(words, " "))
	}
	b, err := io.ReadAll(io.LimitReader(s.stdin, maxInputBytes+1))
	if err != nil {
		return "", fmt.Errorf("standard input: %w", err)
	}
	if len(b) > maxInputBytes {
		return "", fmt.Errorf("standard input: more than %d bytes", maxInputBytes)
	}
	return something(strings.TrimRight(string(b), "\n"))
}

// something is text, unless there is none: nobody means to pay for that.
func something(text string) (string, error) {
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return "", cli.Exit(cli.ExitUsage, errors.New("want text in UTF-8, and this is none: what is no text can only be attached"))
	}
	if strings.TrimSpace(text) == "" {
		return "", cli.Exit(cli.ExitUsage, errors.New("nothing to say: the text is empty"))
	}
	return text, nil
}

// sendCommand is `everturn send`.
type sendCommand struct {
	remote
	settingsFlags
	attachFlags

	Chat chatName `help:"Which chat; it is made if it does not exist. Default: a new one."`
	Mode string   `enum:"queue,steer,interrupt,rollback,reject" default:"queue" placeholder:"MODE" help:"What to do while a turn runs: queue waits for its end, steer goes into it before its next step, interrupt stops it and is next, rollback also takes it back, reject leaves it alone."`
	JSON bool     `help:"Print the outcome as one JSON object."`
	Text []string `arg:"" help:"What to say, in quotes; - reads standard input."`
}

// Run implements the command.
func (c *sendCommand) Run(s *surroundings) error {
	if len(c.Text) > 1 { // else "send oslo hello" would say so to a new chat
		return cli.Exit(cli.ExitUsage, fmt.Errorf(
			"%d texts: put what is to be said in quotes, and name a chat with --chat, as in: send --chat oslo \"hello\"", len(c.Text)))
	}
	said, err := s.text(c.Text)
	if err != nil {
		return err
	}
	attachments, err := c.attachments()
	if err != nil {
		return err
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		chat, r, err := cl.SendNew(ctx, string(c.Chat), protocol.Send{
			Parts: []events.Part{events.Text(said)}, Mode: events.SendMode(c.Mode), Settings: c.settings(),
		}, attachments...)
		return s.decided(chat, r, err, c.JSON)
	})
}
