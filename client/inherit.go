package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Fork makes a chat out of another one as that was at Fork.Rev, or as it is, and
// gives its id; without one an id is minted. What was open there is closed here;
// the other goes on as if nothing had happened.
func (c *Client) Fork(ctx context.Context, chat string, fork protocol.Fork) (string, protocol.Reply, error) {
	if chat == "" {
		chat = NewID()
	}
	fork.V = protocol.Version
	r, err := c.Command(ctx, chat, fork)
	return chat, r, err
}

// Import makes a chat out of a history, which was uploaded for it as
// [Client.UploadImport] does, with all that it refers to.
func (c *Client) Import(ctx context.Context, chat string, imported protocol.Import) (protocol.Reply, error) {
	imported.V = protocol.Version
	return c.Command(ctx, chat, imported)
}

// ErrNoUpload means that nobody takes content.
var ErrNoUpload = errors.New("nobody takes content; is an orchestrator running, and may this user upload?")

// uploadPause is between two tries of an upload that had no answer.
const uploadPause = time.Second

// UploadImport stores content of a chat that is going to be imported. It needs
// the permission to upload, which programs of a tenant do not have: operators do.
func (c *Client) UploadImport(ctx context.Context, chat string, content []byte) (events.Digest, error) {
	return inPieces(content, protocol.MaxImportBytes, func(u protocol.Upload) error { return c.upload(ctx, chat, u) })
}

// upload asks until there is an answer: storing content again changes nothing.
func (c *Client) upload(ctx context.Context, chat string, u protocol.Upload) error {
	u.Import = true
	body, err := json.Marshal(u)
	if err != nil {
		return fmt.Errorf("upload: %w", err)
	}
	subject := protocol.UploadSubject(c.Key(chat))
	for {
		try, cancel := context.WithTimeout(ctx, storeTry)
		m, err := c.nc.RequestWithContext(try, subject, body)
		cancel()
		if err == nil {
			if err = uploaded(m.Data, u.Blob); err == nil {
				return nil
			}
		}
		_, refused := errors.AsType[*RejectedError](err)
		switch {
		case refused:
			return fmt.Errorf("upload: %w", err)
		case errors.Is(err, nats.ErrNoResponders):
			return ErrNoUpload
		case c.refused(subject):
			return fmt.Errorf("upload: %w", ErrNotAllowed)
		case errors.Is(err, nats.ErrConnectionClosed):
			return fmt.Errorf("upload: %w", err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("upload: %w", err)
		case <-time.After(uploadPause):
		}
	}
}

// uploaded reads the answer to an upload. A [*RejectedError] is a no that would be
// the same again.
func uploaded(body []byte, want events.Digest) error {
	var answer protocol.UploadAnswer
	if err := json.Unmarshal(body, &answer); err != nil {
		return err
	}
	if answer.Error != "" && answer.Code != "" && answer.Code != events.CodeUnavailable {
		return &RejectedError{protocol.Reply{Code: answer.Code, Message: answer.Error}}
	}
	if answer.Error != "" || answer.Blob != want {
		return fmt.Errorf("not stored as %s: %s", want, answer.Error)
	}
	return nil
}
