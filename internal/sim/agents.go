package sim

import (
	"context"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/orchestrator"
)

// agentHelper is the one agent there is.
const agentHelper = "helper"

// Of the runs with families in which much goes wrong, one in so many has agents that
// cannot be read for a while after a process has started, by some processes.
const (
	lateAgentsOnceIn = 2
	lateOnceIn       = 2
	latestAgents     = time.Minute
)

// agents are told to a process some time after it asks.
type agents struct {
	after time.Duration
}

// Watch implements [orchestrator.Agents].
func (a agents) Watch(ctx context.Context, on func(map[string]map[string]events.Settings)) error {
	if a.after > 0 {
		timer := time.NewTimer(a.after)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	on(map[string]map[string]events.Settings{"default": {agentHelper: {Model: modelSays, System: "Help."}}})
	<-ctx.Done()
	return ctx.Err()
}

// bus is what a process of the slot has of the server, and the agents that there are.
func (w *world) bus(s *slot, p *membus.Process) orchestrator.Bus {
	bus := p.Orchestrator()
	if !w.plan.families() {
		return bus
	}
	late := agents{}
	if w.faulting && !w.plan.gentle() && !w.plan.calm() && draws(w.plan.seed, "late agents").IntN(lateAgentsOnceIn) == 0 {
		if draw := numbered(w.plan.seed, "late agents of "+s.name, s.number); draw.IntN(lateOnceIn) == 0 {
			late.after = time.Duration(draw.Int64N(int64(latestAgents)))
		}
	}
	bus.Agents = late
	return bus
}
