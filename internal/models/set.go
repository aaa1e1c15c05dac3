package models

import (
	"fmt"
	"log/slog"
	"maps"
	"path/filepath"
	"slices"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
)

// ScriptModel is the name of the model that follows a script. It is always
// there, also beside others.
const ScriptModel = "script"

// Set is the models that can be asked. It is safe for concurrent use.
type Set struct {
	// Default is the model of chats that name none.
	Default string

	// Reviewer is the model that judges calls where a tool wants that and chats name
	// none; empty for none.
	Reviewer string

	// Titler is the model that proposes titles where chats name none; empty for none.
	Titler string

	// Note is what to tell a person about where the models come from; empty if
	// there is nothing to tell.
	Note string

	models   []Listed // in the order of the file
	found    map[string]model.Model
	anything *environment // also gives models of any name; nil if there is none
}

// Listed is a model of a set, for showing.
type Listed struct {
	Entry

	// KeySet reports whether its key is there, or it needs none.
	KeySet bool
}

// newSet builds the models of a file.
func newSet(name string, f file, getenv func(string) string) (*Set, error) {
	s := &Set{Default: f.Default, Reviewer: f.Reviewer, Titler: f.Titler, found: make(map[string]model.Model)}
	made := make(map[string]*candidate, len(f.Models))
	for _, e := range f.Models {
		listed := Listed{Entry: e, KeySet: e.APIKeyEnv == "" || getenv(e.APIKeyEnv) != ""}
		m, err := build(e, getenv(e.APIKeyEnv), filepath.Dir(name))
		if err != nil {
			return nil, fmt.Errorf("%s: model %s: %w", name, e.Name, err)
		}
		if !listed.KeySet {
			m = keyless{variable: e.APIKeyEnv}
		}
		made[e.Name] = &candidate{name: e.Name, model: m, price: e.Price, noTools: !can(e.Abilities.Tools)}
		s.models = append(s.models, listed)
	}
	for _, e := range f.Models {
		s.found[e.Name] = withFallbacks(made, e)
	}
	if s.Default == "" {
		s.Default = f.Models[0].Name
	}
	return s, nil
}

func withFallbacks(made map[string]*candidate, e Entry) model.Model {
	if len(e.Fallbacks) == 0 {
		return made[e.Name]
	}
	c := &chain{first: made[e.Name], log: slog.New(slog.DiscardHandler)}
	for _, f := range e.Fallbacks {
		c.rest = append(c.rest, alternative{candidate: made[f.Model], on: f.On})
	}
	return c
}

// Find gives the model of a name. It is what an orchestrator asks.
func (s *Set) Find(name string) (model.Model, bool) {
	if m, ok := s.found[name]; ok {
		return m, true
	}
	if s.anything == nil {
		return nil, false
	}
	return s.anything.find(name)
}

// List is the models for showing, in the order of the file.
func (s *Set) List() []Listed { return slices.Clone(s.models) }

// Get is the entry of a name.
func (s *Set) Get(name string) (Listed, bool) {
	for _, m := range s.models {
		if m.Name == name {
			return m, true
		}
	}
	return Listed{}, false
}

// logTo says where to tell that another model was asked. It comes before the
// models are asked.
func (s *Set) logTo(log *slog.Logger) {
	for _, m := range s.found {
		if c, ok := m.(*chain); ok {
			c.log = log
		}
	}
}

// pools are those of the models by name, where a pool is named.
func (s *Set) pools() map[string]string {
	pools := make(map[string]string)
	for _, m := range s.models {
		if m.Pool != "" {
			pools[m.Name] = m.Pool
		}
	}
	return pools
}

// windows are those of the models by name; under no name that of every other. Of
// a script that says nothing about its window nothing can become too long.
func (s *Set) windows() map[string]chat.Window {
	windows := make(map[string]chat.Window)
	if s.anything != nil {
		windows[""] = chat.Window{CompactAt: chat.DefaultCompactAt}
	}
	for _, m := range s.models {
		w := chat.Window{Tokens: m.Window, CompactAt: m.CompactAt}
		if m.Provider == Script && w == (chat.Window{}) {
			continue
		}
		if w.CompactAt == 0 {
			w.CompactAt = chat.DefaultCompactAt
		}
		windows[m.Name] = w
	}
	return windows
}

// pool puts what the models say about pools and windows into the configuration of
// an orchestrator. One that is told nothing about pools asks all of them, so that
// no model waits for nobody.
func (s *Set) pool(cfg *orchestrator.Config) {
	pools := s.pools()
	maps.Copy(pools, cfg.ModelPools)
	cfg.ModelPools = pools
	cfg.Windows = s.windows()
	if cfg.Pools != nil {
		return
	}
	cfg.Pools = map[string]int{chat.DefaultPool: orchestrator.DefaultConcurrency}
	for _, pool := range pools {
		cfg.Pools[pool] = orchestrator.DefaultConcurrency
	}
}
