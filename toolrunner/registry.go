package toolrunner

import (
	"context"
	"fmt"
	"slices"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// registry knows the claims this process answers for: from before a claim is
// first sent until the call's result has been answered. A call may stand in it
// twice, when the queue gave it to the same process again.
type registry struct {
	mu      sync.Mutex
	entries []*entry // in the order they came, so that stops are always acted on in one order
}

type entry struct {
	chat   events.Key
	call   events.CallID
	claim  string
	cancel context.CancelCauseFunc
}

func (g *registry) add(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = append(g.entries, e)
}

func (g *registry) remove(e *entry) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.entries = slices.DeleteFunc(g.entries, func(other *entry) bool { return other == e })
}

// running answers whether a claim is still ours.
func (g *registry) running(q protocol.RunnerQuestion) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.ContainsFunc(g.entries, func(e *entry) bool {
		return e.claim == q.Claim && e.call == q.Call && e.chat == (events.Key{Tenant: q.Tenant, Chat: q.Chat})
	})
}

// stop cancels what the message means: one call, or all of a turn. A message
// about a step means the model.
func (g *registry) stop(k events.Key, s protocol.Stop) {
	if s.Call == nil && s.Step != nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, e := range g.entries {
		if e.chat != k {
			continue
		}
		if s.Call != nil && e.call == *s.Call || s.Call == nil && e.call.Turn == s.Turn {
			e.cancel(fmt.Errorf("%w: it was stopped", ErrNotWanted))
		}
	}
}
