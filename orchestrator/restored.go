package orchestrator

import (
	"context"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// CloseRestored ends what is open in a chat that comes from a backup, and may go on
// in the installation that the backup was made of. It reports whether anything was
// open. Nothing is handed out, and what models are asked or tools do is not stopped:
// no orchestrator may run yet.
//
// Trouble of the store is tried again until ctx ends.
func (o *Orchestrator) CloseRestored(ctx context.Context, k events.Key) (closed bool, err error) {
	err = o.boxes.do(ctx, k, func() error {
		out, err := o.decide(ctx, k, chat.Restored{}, "", patience{})
		closed = out.committed
		return err
	})
	return closed, err
}
