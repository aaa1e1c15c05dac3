package toolrunner

import (
	"context"
	"slices"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Source has tools that come, change and go while a runner runs.
type Source interface {
	// Serve calls offer with all the tools there are, first as soon as there are any
	// and then after each change, until ctx ends. It returns when nothing of what it
	// started is left. It must not call offer after that.
	//
	// A tool whose manifest cannot be used, or whose name another one has, is logged
	// and left out. Calls of a tool that was changed or taken back may still come, for
	// turns that began before: they reach the tool that was given last under that
	// manifest.
	Serve(ctx context.Context, offer func(tools []Tool))
}

// maxRetired is how many manifests that are offered no more are still served. Turns
// that know older ones have ended long since.
const maxRetired = 1024

// toolset is what a runner offers and serves.
type toolset struct {
	mu      sync.RWMutex
	fixed   []offered
	sources [][]offered // by the number of the source
	serving map[events.Digest]offered
	retired []events.Digest // served and not offered, the longest so first
	renewed chan struct{}   // has room for one word that there is something new to offer
}

func newToolset(sources int) *toolset {
	return &toolset{
		sources: make([][]offered, sources), serving: map[events.Digest]offered{}, renewed: make(chan struct{}, 1),
	}
}

// named says whether a tool of that name is offered.
func (s *toolset) named(name string) bool {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return slices.ContainsFunc(s.all(), func(t offered) bool { return t.manifest.Name == name })
}

// all is everything that is offered, in the order it was given. The caller holds mu.
func (s *toolset) all() []offered {
	return slices.Concat(append([][]offered{s.fixed}, s.sources...)...)
}

// find gives the tool that has a manifest.
func (s *toolset) find(d events.Digest) (offered, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	t, have := s.serving[d]
	return t, have
}

// manifests are those on offer.
func (s *toolset) manifests() []protocol.Manifest {
	s.mu.RLock()
	defer s.mu.RUnlock()
	var list []protocol.Manifest
	for _, t := range s.all() {
		list = append(list, t.manifest)
	}
	return list
}

// add puts one more tool among those that stay.
func (s *toolset) add(t offered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fixed = append(s.fixed, t)
	s.serving[t.digest] = t
}

// replace makes tools all that a source has, and gives those whose names are taken.
func (s *toolset) replace(source int, tools []offered) (doubled []offered) {
	s.mu.Lock()
	defer s.mu.Unlock()
	before := s.sources[source]
	s.sources[source] = nil
	taken := map[string]bool{}
	for _, t := range s.all() {
		taken[t.manifest.Name] = true
	}
	var kept []offered
	for _, t := range tools {
		if taken[t.manifest.Name] {
			doubled = append(doubled, t)
			continue
		}
		taken[t.manifest.Name] = true
		kept = append(kept, t)
		s.serving[t.digest] = t
		s.retired = slices.DeleteFunc(s.retired, func(d events.Digest) bool { return d == t.digest })
	}
	s.sources[source] = kept
	for _, t := range before {
		if !slices.ContainsFunc(kept, func(k offered) bool { return k.digest == t.digest }) {
			s.retired = append(s.retired, t.digest)
		}
	}
	for len(s.retired) > maxRetired {
		delete(s.serving, s.retired[0])
		s.retired = s.retired[1:]
	}
	if slices.EqualFunc(before, kept, func(a, b offered) bool { return a.digest == b.digest }) {
		return doubled // who was told of them need not be told again
	}
	select {
	case s.renewed <- struct{}{}:
	default: // somebody will look anyway
	}
	return doubled
}

// serveSource offers what a source has until ctx ends.
func (r *Runner) serveSource(ctx context.Context, number int, source Source) {
	source.Serve(ctx, func(tools []Tool) {
		var usable []offered
		for _, t := range tools {
			one, err := r.checked(t)
			if err != nil {
				r.log.Error("a tool cannot be offered", "error", err)
				continue
			}
			usable = append(usable, one)
		}
		for _, t := range r.tools.replace(number, usable) {
			r.log.Error("a tool is not offered: there is another one of its name", "tool", t.manifest.Name)
		}
	})
}
