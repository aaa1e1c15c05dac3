package client

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Edit says a text in place of what a turn began with, in a new turn beside it;
// with 0, beside the last turn of the selected branch. A turn that runs is
// interrupted first: then the reply names the input that waits for that.
//
// Attachments are uploaded as by [Client.Send].
func (c *Client) Edit(ctx context.Context, chat string, turn int, text string, attachments ...Attachment) (protocol.Reply, error) {
	parts, err := c.attachAll(ctx, chat, []events.Part{events.Text(text)}, attachments)
	if err != nil {
		return protocol.Reply{}, err
	}
	return c.Command(ctx, chat, protocol.Edit{V: protocol.Version, Turn: turn, Parts: parts})
}

// Regenerate has what a turn began with answered once more, in a new turn beside
// it, which the reply names; with 0, the last turn of the selected branch. A turn
// that runs is interrupted first.
func (c *Client) Regenerate(ctx context.Context, chat string, turn int) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.Regenerate{V: protocol.Version, Turn: turn})
}

// SelectBranch makes a turn the one that the next follows. A turn that runs on
// another branch is interrupted.
func (c *Client) SelectBranch(ctx context.Context, chat string, turn int) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.SelectBranch{V: protocol.Version, Turn: turn})
}

// Branches lists the branches of a chat.
func (c *Client) Branches(ctx context.Context, chat string) (transcript.Branches, error) {
	var b transcript.Branches
	err := c.Query(ctx, transcript.QueryBranches, transcript.BranchesRequest{Chat: chat}, &b)
	return b, err
}
