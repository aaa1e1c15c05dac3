package client

import (
	"context"
	"errors"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// Create makes a chat and gives its id. Without an id one is minted. That a chat
// of this id exists already is a [*RejectedError] of code exists.
func (c *Client) Create(ctx context.Context, chat string, create protocol.Create) (string, error) {
	if chat == "" {
		chat = NewID()
	}
	create.V = protocol.Version
	_, err := c.Command(ctx, chat, create)
	return chat, err
}

// Ensure makes a chat unless it is there, and gives its id. Without an id one is
// minted.
func (c *Client) Ensure(ctx context.Context, chat string) (string, error) {
	chat, err := c.Create(ctx, chat, protocol.Create{})
	if rejected, ok := errors.AsType[*RejectedError](err); ok && rejected.Code == events.CodeExists {
		return chat, nil
	}
	return chat, err
}

// SendNew is [Client.SendInput] in a chat that is made first unless it is there.
// Both commands are stored before either is waited for: what was said is
// accepted also while nobody is there to decide. Attachments need a chat to be
// uploaded to, so with some of them its creation is waited for.
func (c *Client) SendNew(ctx context.Context, chat string, send protocol.Send, attachments ...Attachment) (string, protocol.Reply, error) {
	if chat == "" {
		chat = NewID()
	}
	if len(attachments) > 0 {
		if _, err := c.Ensure(ctx, chat); err != nil {
			return chat, protocol.Reply{}, err
		}
		r, err := c.SendInput(ctx, chat, send, attachments...)
		return chat, r, err
	}
	if _, err := c.Head(ctx, chat); err != nil { // unknown, or nobody says
		if err := c.Submit(ctx, chat, NewID(), protocol.Create{V: protocol.Version}); err != nil {
			return chat, protocol.Reply{}, err
		}
	}
	r, err := c.SendInput(ctx, chat, send)
	return chat, r, err
}

// Send says a text in a chat that exists. The reply names the turn it has
// started, or the input that waits until the turn that runs has ended.
//
// Attachments are uploaded first and go along with the text, by digest. What is no
// image of the type it is said to be is refused with code bad_command, and so is
// more than a chat or an input may have.
func (c *Client) Send(ctx context.Context, chat, text string, attachments ...Attachment) (protocol.Reply, error) {
	return c.SendInput(ctx, chat, protocol.Send{Parts: []events.Part{events.Text(text)}}, attachments...)
}

// SendInput is [Client.Send] of anything that can be sent, with a mode and
// settings.
func (c *Client) SendInput(ctx context.Context, chat string, send protocol.Send, attachments ...Attachment) (protocol.Reply, error) {
	send.V = protocol.Version
	var err error
	if send.Parts, err = c.attachAll(ctx, chat, send.Parts, attachments); err != nil {
		return protocol.Reply{}, err
	}
	return c.Command(ctx, chat, send)
}

// Interrupt asks for the end of a turn; it comes within seconds. Name the turn:
// with 0 it is whatever turn runs when the command's place comes. Doing it twice
// does no harm; a turn that has ended is a [*RejectedError] of code
// already_finished.
func (c *Client) Interrupt(ctx context.Context, chat string, turn int, reason string) (protocol.Reply, error) {
	return c.Command(ctx, chat, protocol.Interrupt{V: protocol.Version, Turn: turn, Reason: reason})
}

// Head says how a chat stands.
func (c *Client) Head(ctx context.Context, chat string) (transcript.Head, error) {
	var head transcript.Head
	err := c.Query(ctx, transcript.QueryHead, transcript.HeadRequest{Chat: chat}, &head)
	return head, err
}

// Transcript is a whole chat as people read it, as of now. A long one is asked
// for page by page, all of one moment; [Client.Pages] gives them one at a time.
func (c *Client) Transcript(ctx context.Context, chat string) (transcript.Page, error) {
	var whole transcript.Page
	err := c.Pages(ctx, transcript.Request{Chat: chat}, func(page transcript.Page) error {
		before := whole
		whole = page
		whole.Messages = slices.Concat(before.Messages, page.Messages)
		whole.Turns = before.Turns
		for _, turn := range page.Turns { // one whose messages lie on two pages comes twice
			if n := len(before.Turns); n == 0 || turn.Turn > before.Turns[n-1].Turn {
				whole.Turns = append(whole.Turns, turn)
			}
		}
		return nil
	})
	return whole, err
}

// Pages calls each with the pages of a transcript from the request's on, all as
// the chat was at the first of them.
func (c *Client) Pages(ctx context.Context, r transcript.Request, each func(transcript.Page) error) error {
	for {
		var page transcript.Page
		if err := c.Query(ctx, transcript.QueryPage, r, &page); err != nil {
			return err
		}
		if err := each(page); err != nil || page.Next == 0 {
			return err
		}
		r.After = page.Next
		if r.At.IsZero() {
			r.At = transcript.Point{Rev: page.Rev}
		}
	}
}
