package main

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
)

// eraseCommand is `everturn erase`.
type eraseCommand struct {
	instruction
	oneChat

	Yes bool `help:"Yes, delete it for good."`
}

// Run implements the command.
func (c *eraseCommand) Run(s *surroundings) error {
	if !c.Yes {
		return cli.Exit(cli.ExitUsage, fmt.Errorf(
			"this would delete chat %s for good, with all its content: --yes does it; export keeps a copy, archive puts it away", c.Chat))
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		r, err := cl.Command(ctx, string(c.Chat), protocol.Erase{V: protocol.Version})
		if err := s.decided(string(c.Chat), r, err, c.JSON); err != nil {
			return err
		}
		fmt.Fprintf(s.stderr, "the chat takes nothing more; what is open ends within seconds, and %s later its content is deleted\n", events.EraseDelay)
		return nil
	})
}

// erasedError is the answer to whoever wants to look into the log of a chat that is
// erased.
func erasedError(k events.Key, tombstone events.Commit) error {
	by := ""
	if e, ok := tombstone.Events[0].(events.ChatErased); ok && e.By != "" {
		by = " by " + e.By
	}
	return cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s was erased%s: nothing is left of it since %s", k, by, tombstone.At))
}

// notErased is an error if a chat's newest commit says that it is erased.
func notErased(k events.Key, newest []byte) error {
	if !events.Erased(newest) {
		return nil
	}
	c, err := events.Decode(newest)
	if err != nil {
		return err
	}
	return erasedError(k, c)
}
