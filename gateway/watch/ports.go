package watch

import (
	"context"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Feed is what happens in all chats of all tenants while it happens.
type Feed interface {
	// Follow calls on with each message, one after the other, until ctx ends, and
	// only then returns; its error is another one if it cannot go on. It calls gap
	// when it has begun: what is sent from then on is heard; and whenever messages
	// may have been missed. On must be quick, and may keep body.
	Follow(ctx context.Context, gap func(), on func(k events.Key, kind protocol.FeedKind, body []byte)) error

	// Deltas are those of an attempt that the feed still has, in order.
	Deltas(ctx context.Context, k events.Key, step events.StepID, attempt int) ([]protocol.Delta, error)
}

// Chats answers queries about chats: "chat", "transcript" and "commits".
type Chats interface {
	// Query asks a projection and decodes what it answers. A no is a
	// [*protocol.RefusedError]; after any other error asking again may help.
	Query(ctx context.Context, tenant, name string, question, answer any) error
}
