package readside

import (
	"context"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/protocol"
)

var _ gateway.Chats = chats{}

// chats is what a gateway asks of the bus, by the Go client.
type chats struct{ nc *nats.Conn }

// Command implements [gateway.Chats].
func (c chats) Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error) {
	reply, err := client.New(c.nc, k.Tenant, by).CommandWithID(ctx, k.Chat, id, body)
	if rejected, ok := errors.AsType[*client.RejectedError](err); ok {
		return rejected.Reply, nil
	}
	return reply, answered(err)
}

// Query implements [gateway.Chats].
func (c chats) Query(ctx context.Context, tenant, name string, question, answer any) error {
	return answered(client.New(c.nc, tenant, "").Query(ctx, name, question, answer))
}

// Upload implements [gateway.Chats].
func (c chats) Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error) {
	d, err := client.New(c.nc, k.Tenant, "").Upload(ctx, k.Chat, content)
	return d, answered(err)
}

// Download implements [gateway.Chats].
func (c chats) Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	content, err := client.New(c.nc, k.Tenant, "").Download(ctx, k.Chat, d)
	return content, answered(err)
}

// answered says an error of the client in the words of the gateway's port.
func answered(err error) error {
	no, isNo := errors.AsType[*client.QueryError](err)
	switch {
	case isNo:
		return &protocol.RefusedError{Code: no.Code, Detail: no.Message}
	case errors.As(err, new(*client.UndecidedError)):
		return fmt.Errorf("%w: %w", gateway.ErrUndecided, err)
	case errors.Is(err, client.ErrNoService), errors.Is(err, client.ErrNoStreams), errors.Is(err, nats.ErrConnectionClosed):
		return fmt.Errorf("%w: %w", gateway.ErrUnavailable, err)
	}
	return err
}
