package orchestrator

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// registry is the list of tools on offer, as the store last told it.
type registry struct {
	first chan struct{} // closed when the first list has come

	mu      sync.Mutex
	known   bool
	entries map[string]protocol.ToolEntry // by name
	tools   []events.Tool                 // by name; replaced, never written to
}

func newRegistry() *registry { return &registry{first: make(chan struct{})} }

// watchTools keeps the registry current until ctx ends.
func (o *Orchestrator) watchTools(ctx context.Context) error {
	return o.bus.Tools.Watch(ctx, o.tools.set)
}

// add enters a tool that this process has just stored, so that whoever offered
// it can rely on it before the store tells us.
func (r *registry) add(e protocol.ToolEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	list := []protocol.ToolEntry{e}
	for name, other := range r.entries {
		if name != e.Manifest.Name {
			list = append(list, other)
		}
	}
	r.replace(list)
}

// set takes the whole list, as the store told it.
func (r *registry) set(list []protocol.ToolEntry) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.replace(list)
	if !r.known {
		r.known = true
		close(r.first)
	}
}

// replace makes list the registry's. The lock is held.
//
// If two groups offered one name at the same moment, to two processes, the one
// that came first has it, everywhere.
func (r *registry) replace(list []protocol.ToolEntry) {
	entries := make(map[string]protocol.ToolEntry, len(list))
	for _, e := range list {
		other, twice := entries[e.Manifest.Name]
		if !twice || cmp.Or(cmp.Compare(e.At, other.At), cmp.Compare(e.Manifest.Group, other.Manifest.Group)) < 0 {
			entries[e.Manifest.Name] = e
		}
	}
	tools := make([]events.Tool, 0, len(entries))
	for _, name := range slices.Sorted(maps.Keys(entries)) {
		t := entries[name].Manifest.Tool()
		t.Manifest = entries[name].Digest
		tools = append(tools, t)
	}
	r.entries, r.tools = entries, tools
}

// offered is the list of tools, sorted by name. It is shared: only to be read.
func (r *registry) offered() []events.Tool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.tools
}

// entry is the tool of a name.
func (r *registry) entry(name string) (protocol.ToolEntry, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	e, ok := r.entries[name]
	return e, ok
}

// maxManifests bounds the manifests kept in memory. All are dropped when there
// are more: they are few, unless somebody offers new ones all the time.
const maxManifests = 1024

// manifests keeps what never changes: manifests by digest, and their schemas.
type manifests struct {
	mu   sync.Mutex
	kept map[events.Digest]*manifest
}

// manifest is a tool's manifest with its schema, compiled when it is needed.
type manifest struct {
	protocol.Manifest
	schema func() (*chat.Schema, error)
}

func newManifest(content protocol.Manifest) *manifest {
	return &manifest{Manifest: content, schema: sync.OnceValues(func() (*chat.Schema, error) {
		return chat.CompileSchema(content.Schema)
	})}
}

func newManifests() *manifests { return &manifests{kept: make(map[events.Digest]*manifest)} }

func (m *manifests) get(d events.Digest) (*manifest, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	kept, ok := m.kept[d]
	return kept, ok
}

func (m *manifests) put(d events.Digest, content protocol.Manifest) *manifest {
	kept := newManifest(content)
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.kept) >= maxManifests {
		clear(m.kept)
	}
	m.kept[d] = kept
	return kept
}

// keepBuiltIns stores the manifests of the tools that the core knows, for those who
// read an old turn when they have changed. This process needs none of it.
func (o *Orchestrator) keepBuiltIns(ctx context.Context) {
	for _, m := range chat.BuiltIns() {
		for n := 0; ; n++ {
			try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
			err := o.bus.Tools.Keep(try, m)
			cancel()
			if err == nil {
				break
			}
			if !o.again(ctx, patience{}, n) {
				return // whoever starts next stores it
			}
		}
	}
}

// builtInManifests are those of the tools that the core knows, by digest.
func builtInManifests() map[events.Digest]*manifest {
	all := make(map[events.Digest]*manifest)
	for _, m := range chat.BuiltIns() {
		_, digest := m.Encode()
		all[digest] = newManifest(m)
	}
	return all
}

// manifest gives a manifest by digest, from the store if need be.
func (o *Orchestrator) manifest(ctx context.Context, d events.Digest) (*manifest, error) {
	if m, ok := o.builtIns[d]; ok {
		return m, nil
	}
	if m, ok := o.manifests.get(d); ok {
		return m, nil
	}
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	content, err := o.bus.Tools.Manifest(ctx, d)
	if err != nil {
		return nil, err
	}
	return o.manifests.put(d, content), nil
}
