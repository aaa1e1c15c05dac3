package orchestrator

import (
	"context"
	"errors"
	"sync"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
)

// errAgentsUnknown means that the store has not told yet which agents there are. A
// chat that names one waits for that; all others go on.
var errAgentsUnknown = errors.New("it is not known yet which agents there are")

// agents are the named settings, as the store last told them.
type agents struct {
	mu    sync.Mutex
	known bool
	all   map[string]map[string]events.Settings // by tenant and name; replaced, never written to
}

// watchAgents keeps the agents current until ctx ends.
func (o *Orchestrator) watchAgents(ctx context.Context) error {
	return o.bus.Agents.Watch(ctx, o.agents.set)
}

func (a *agents) set(all map[string]map[string]events.Settings) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.known, a.all = true, all
}

// of gives those of a tenant. They are shared: only to be read.
func (a *agents) of(tenant string) map[string]events.Settings {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.all[tenant]
}

func (a *agents) isKnown() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.known
}

// agentsFor is an error if deciding about m in s needs agents that are not known.
func (o *Orchestrator) agentsFor(s chat.State, m chat.Message) error {
	if o.bus.Agents == nil || o.agents.isKnown() || !chat.NeedsAgents(s, m) {
		return nil
	}
	return errAgentsUnknown
}
