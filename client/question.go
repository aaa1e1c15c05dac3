package client

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Answer answers every question that a call of the model asks: one answer to each,
// the label of an option or other words. Who is too late gets a [*RejectedError] of
// code already_resolved.
func (c *Client) Answer(ctx context.Context, chat string, call events.CallID, answers ...events.Answer) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.Answer{V: protocol.Version, Call: call, Answers: answers})
}

// ClientResult sends what a call of the client's own tools came to. The first result
// of a call holds; a later one is a [*RejectedError] of code already_resolved.
func (c *Client) ClientResult(ctx context.Context, chat string, call events.CallID, isError bool, parts ...events.Part) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.ClientResult{V: protocol.Version, Call: call, Parts: parts, IsError: isError})
}

// Hold stops the clock of a question while somebody thinks about it, or lets it
// run on. Doing it twice does no harm.
func (c *Client) Hold(ctx context.Context, chat string, call events.CallID, hold bool) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.Answer{V: protocol.Version, Call: call, Hold: &hold})
}
