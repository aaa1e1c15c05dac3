package main

import (
	"context"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/protocol"
)

// forkCommand is `everturn fork`.
type forkCommand struct {
	remote
	oneChat

	At    uint64   `placeholder:"REV" help:"As the chat was at this rev. Default: as it is."`
	ID    chatName `placeholder:"CHAT" help:"Id of the new chat. Default: a new one."`
	Title string   `help:"Its title. Default: that of the other chat."`
	JSON  bool     `help:"Print the outcome as one JSON object."`
}

// Run implements the command.
func (c *forkCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		chat, r, err := cl.Fork(ctx, string(c.ID), protocol.Fork{Chat: string(c.Chat), Rev: c.At, Title: c.Title})
		return s.decided(chat, r, err, c.JSON)
	})
}
