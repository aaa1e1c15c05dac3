package page

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
)

// Chats takes commands and answers queries, with the errors of the gateway's port
// of the same name.
type Chats interface {
	Command(ctx context.Context, k events.Key, by, id string, body protocol.Body) (protocol.Reply, error)
	Query(ctx context.Context, tenant, name string, question, answer any) error
	Download(ctx context.Context, k events.Key, d events.Digest) ([]byte, error)
}

// Watch opens what happens in a chat, from behind a rev on; 0 is its beginning.
type Watch func(ctx context.Context, k events.Key, cursor uint64) (Watcher, error)

// Watcher tells what happens in a chat.
type Watcher interface {
	// Next waits for what happens next. An error is the watcher's end.
	Next(ctx context.Context) (watch.Event, error)

	// Close ends it.
	Close()
}
