package models

import (
	"cmp"
	"strings"
	"sync"

	"github.com/everturn/everturn/model"
)

// What a key in the environment asks where nobody names a model.
const (
	defaultAnthropic = "claude-sonnet-5"
	defaultOpenAI    = "gpt-5.5"
)

// maxFound bounds how many models of the environment are kept for the next
// question: their names come from users.
const maxFound = 64

// environment gives models by the provider's own names, with the keys and
// addresses that the vendors' own tools look for. It is what there is without a
// models.yaml.
type environment struct {
	getenv    func(string) string
	providers []Provider // whose key is there

	mu    sync.Mutex
	found map[string]model.Model
}

// fromEnvironment is the set of what the environment gives: a provider's models
// if its key is there, else the scripted one alone.
func fromEnvironment(getenv func(string) string, scripted model.Model) (*Set, error) {
	s := &Set{Default: ScriptModel, found: map[string]model.Model{ScriptModel: scripted}}
	env := &environment{getenv: getenv, found: make(map[string]model.Model)}
	for _, p := range []Provider{Anthropic, OpenAI} {
		if getenv(p.keyVariable()) == "" {
			continue
		}
		e := env.entry(p, env.standard(p))
		m, err := build(e, getenv(e.APIKeyEnv), "")
		if err != nil {
			return nil, err
		}
		env.providers = append(env.providers, p)
		s.found[e.Name] = &candidate{name: e.Name, model: m}
		s.models = append(s.models, Listed{Entry: e, KeySet: true})
	}
	s.models = append(s.models, Listed{Entry: Entry{Name: ScriptModel, Provider: Script}, KeySet: true})
	if len(env.providers) == 0 {
		s.Note = "no models.yaml, and neither ANTHROPIC_API_KEY nor OPENAI_API_KEY is set: the scripted model answers (docs/MODELS.md)"
		return s, nil
	}
	s.Default, s.anything = s.models[0].Name, env
	return s, nil
}

// standard is the model of a provider that is asked if nobody names one.
func (e *environment) standard(p Provider) string {
	if p == OpenAI {
		return cmp.Or(e.getenv("OPENAI_MODEL"), defaultOpenAI)
	}
	return cmp.Or(e.getenv("ANTHROPIC_MODEL"), defaultAnthropic)
}

func (e *environment) entry(p Provider, name string) Entry {
	base := "ANTHROPIC_BASE_URL"
	if p == OpenAI {
		base = "OPENAI_BASE_URL"
	}
	return Entry{Name: name, Provider: p, Model: name, BaseURL: e.getenv(base), APIKeyEnv: p.keyVariable()}
}

// find gives the model that a provider calls by that name.
func (e *environment) find(name string) (model.Model, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if m, ok := e.found[name]; ok {
		return m, true
	}
	entry := e.entry(e.provider(name), name)
	m, err := build(entry, e.getenv(entry.APIKeyEnv), "")
	if err != nil {
		return nil, false // the address was good for the provider's first model, so it is the name
	}
	if len(e.found) >= maxFound {
		clear(e.found)
	}
	e.found[name] = &candidate{name: name, model: m}
	return e.found[name], true
}

// provider is who has a model of that name.
func (e *environment) provider(name string) Provider {
	if len(e.providers) == 2 && !strings.HasPrefix(name, "claude") {
		return OpenAI
	}
	return e.providers[0]
}
