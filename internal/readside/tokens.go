package readside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/streams"
)

var _ gateway.Tokens = (*tokens)(nil)

// tokens are those that the bus last told of.
type tokens struct {
	now func() time.Time

	mu  sync.Mutex
	all map[streams.TokenHash]streams.Token // replaced, never written to; nil: not told yet
}

// Identity implements [gateway.Tokens].
func (t *tokens) Identity(token string) (identity.Identity, error) {
	t.mu.Lock()
	all := t.all
	t.mu.Unlock()
	if all == nil {
		return identity.Identity{}, fmt.Errorf("%w: it is not known yet which tokens there are", gateway.ErrUnavailable)
	}
	known, ok := all[streams.HashToken(token)]
	if !ok || known.Expires != 0 && known.Expires <= events.At(t.now()) {
		return identity.Identity{}, gateway.ErrNoToken
	}
	return identity.Identity{Tenant: known.Tenant, By: known.By, Token: known.Name}, nil
}

// set takes what the bus tells.
func (t *tokens) set(all map[streams.TokenHash]streams.Token) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.all = all
}

// known reports whether the bus has told.
func (t *tokens) known() bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.all != nil
}

// tokensWait is how long to wait before tokens are asked for again.
const tokensWait = 500 * time.Millisecond

// watch keeps them current until ctx ends. A gateway may be started before the bucket
// is made; and one that has lost the bus goes on with what it knew, since it can do
// nothing for anybody until the bus is there again.
func (t *tokens) watch(ctx context.Context, from *streams.Tokens, log *slog.Logger) {
	for told := false; ; told = true {
		err := from.Watch(ctx, t.set)
		if ctx.Err() != nil {
			return
		}
		if !told || !errors.Is(err, streams.ErrNoStreams) {
			log.WarnContext(ctx, "tokens are not followed now", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(tokensWait):
		}
	}
}
