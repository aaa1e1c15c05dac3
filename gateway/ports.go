package gateway

import (
	"context"
	"errors"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Chats takes commands and answers queries about the chats of all tenants. Who
// calls it has made sure that the tenant is the caller's.
type Chats interface {
	// Command stores a command and waits until it is decided. The same id is the
	// same command, however often it comes. A no on record is a reply that is not
	// OK. What no log was written for is a [*protocol.RefusedError]. [ErrUndecided]
	// means that it is stored and will be decided: it must not be sent as another.
	// [protocol.ErrStorageFull] and [ErrUnavailable] mean that it is not stored.
	Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error)

	// Query asks a projection and decodes what it answers. A no is a
	// [*protocol.RefusedError], nobody there [ErrUnavailable].
	Query(ctx context.Context, tenant, name string, question, answer any) error

	// Upload stores content of a chat that exists, and gives its digest.
	Upload(ctx context.Context, k events.Key, content []byte) (events.Digest, error)

	// Download gives content of a chat, checked against its digest.
	Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}

var (
	// ErrUndecided means that a command is stored and that its outcome was not
	// waited for to the end.
	ErrUndecided = errors.New("the command is stored and will be decided; do not send it again")

	// ErrUnavailable means that nobody answers now; asking again may help.
	ErrUnavailable = errors.New("nobody answers now; try again")
)
