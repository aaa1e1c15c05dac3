package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
)

const agentsStream = bucketPrefix + AgentsBucket

// Agents are the named settings of all tenants, in the bucket AGENTS. It implements
// the agents port of orchestrators.
type Agents struct{ c *connection }

// agentEntry is the value of a key "<tenant>.<agent>".
type agentEntry struct {
	Settings events.Settings `json:"settings"`
}

// agentSubject is where a tenant's agent of that name lies.
func agentSubject(tenant, name string) string {
	return bucketSubject(AgentsBucket, tenant+"."+name)
}

// Put stores an agent in place of whatever had its name.
func (a *Agents) Put(ctx context.Context, tenant, name string, settings events.Settings) error {
	body, err := json.Marshal(agentEntry{Settings: settings})
	if err != nil {
		return fmt.Errorf("store agent %s: %w", name, err)
	}
	return translate(a.c.keep(ctx, agentSubject(tenant, name), body), "store agent %s", name)
}

// Delete takes an agent away. One that is not there is no error.
func (a *Agents) Delete(ctx context.Context, tenant, name string) error {
	return translate(a.c.forget(ctx, agentSubject(tenant, name)), "remove agent %s", name)
}

// List gives a tenant's agents by name.
func (a *Agents) List(ctx context.Context, tenant string) (map[string]events.Settings, error) {
	all, err := listed(ctx, func(ctx context.Context, on func(map[string]map[string]events.Settings) error) error {
		return a.follow(ctx, agentSubject(tenant, "*"), on)
	})
	return all[tenant], err
}

// Watch calls on with all agents, by tenant and name, first and after each change,
// until ctx ends or it may have missed one: then call it again. What on gets is
// not changed any more.
func (a *Agents) Watch(ctx context.Context, on func(map[string]map[string]events.Settings)) error {
	return a.follow(ctx, bucketSubject(AgentsBucket, ">"), func(all map[string]map[string]events.Settings) error {
		on(all)
		return nil
	})
}

// follow is Watch, of some, until on fails.
func (a *Agents) follow(ctx context.Context, filter string, on func(map[string]map[string]events.Settings) error) error {
	all := map[string]map[string]events.Settings{}
	take := func(m *nats.Msg, told bool) error {
		if tenant, _, ok := agentOf(m); ok && told {
			all[tenant] = maps.Clone(all[tenant])
		}
		enter(all, m)
		return nil
	}
	return a.c.mirror(ctx, agentsStream, filter, take, func() error { return on(maps.Clone(all)) })
}

// agentOf is the agent that a message of the bucket is about, false if it is about
// none that there may be.
func agentOf(m *nats.Msg) (tenant, name string, ok bool) {
	tenant, name, ok = strings.Cut(strings.TrimPrefix(m.Subject, bucketSubject(AgentsBucket, "")), ".")
	return tenant, name, ok && events.ValidateAgent(name) == nil
}

// enter changes all as a message of the bucket says, and writes to the agents of its
// tenant. What nobody can read changes nothing.
func enter(all map[string]map[string]events.Settings, m *nats.Msg) {
	tenant, name, ok := agentOf(m)
	if !ok {
		return
	}
	if m.Header.Get(bucketOperation) != "" {
		delete(all[tenant], name)
		return
	}
	var e agentEntry
	if err := json.Unmarshal(m.Data, &e); err != nil {
		return
	}
	if all[tenant] == nil {
		all[tenant] = map[string]events.Settings{}
	}
	e.Settings.Agent = "" // an agent names no other
	all[tenant][name] = e.Settings
}
