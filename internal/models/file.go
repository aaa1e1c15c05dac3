package models

import (
	"fmt"
	"io"
	"os"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

// maxFileBytes bounds a models.yaml; the largest sensible one is far smaller.
const maxFileBytes = 1 << 20

// Provider says in which format a model is asked.
type Provider string

// The providers.
const (
	Anthropic        Provider = "anthropic"
	OpenAI           Provider = "openai"
	OpenAICompatible Provider = "openai-compatible" // anybody who speaks OpenAI's format
	Script           Provider = "script"
)

// file is a whole models.yaml. docs/MODELS.md explains every key.
type file struct {
	Default  string  `yaml:"default"`
	Reviewer string  `yaml:"reviewer"` // judges calls whose tool wants that
	Titler   string  `yaml:"titler"`   // proposes titles
	Models   []Entry `yaml:"models"`
}

// Entry is what a models.yaml says about one model.
type Entry struct {
	Name      string     `yaml:"name"`     // what chats call it
	Provider  Provider   `yaml:"provider"` //
	BaseURL   string     `yaml:"base_url"`
	APIKeyEnv string     `yaml:"api_key_env"` // the variable's name, never the key
	Bearer    bool       `yaml:"bearer"`      // how Anthropic's format sends the key
	Model     string     `yaml:"model"`       // what the provider calls it
	Script    string     `yaml:"script"`      // file of a scripted model
	Window    int64      `yaml:"window"`      // tokens
	CompactAt int        `yaml:"compact_at"`  // percent of the window; 0 is the default, 100 never
	Price     *Price     `yaml:"price"`       // nil: unknown
	Abilities Abilities  `yaml:"abilities"`
	Defaults  Defaults   `yaml:"defaults"`
	Pool      string     `yaml:"pool"`
	Fallbacks []Fallback `yaml:"fallbacks"`
}

// Abilities say what a model can do. What is not said it can.
type Abilities struct {
	Images    *bool `yaml:"images"`
	Reasoning *bool `yaml:"reasoning"`
	Tools     *bool `yaml:"tools"`
}

// can reads an ability.
func can(ability *bool) bool { return ability == nil || *ability }

// Defaults are what a model is asked with where the chat says nothing.
type Defaults struct {
	MaxOutputTokens int    `yaml:"max_output_tokens"`
	ThinkingTokens  int    `yaml:"thinking_tokens"`
	Effort          string `yaml:"effort"`
}

// Fallback names a model to ask when this one fails with one of the classes
// before it has said anything.
type Fallback struct {
	Model string              `yaml:"model"`
	On    []events.ErrorClass `yaml:"on"`
}

// Load reads the models.yaml at path. The error names every problem with its
// line and column.
func Load(path string) (*Set, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	defer f.Close()
	source, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	return Parse(path, source, os.Getenv)
}

// Parse reads the text of a models.yaml. Scripts are looked for beside name, keys
// where getenv finds them.
func Parse(name string, source []byte, getenv func(string) string) (*Set, error) {
	if len(source) > maxFileBytes {
		return nil, fmt.Errorf("models: %s is larger than %d bytes", name, maxFileBytes)
	}
	var f file
	read, err := yamlfile.Read(name, source, &f, yamlfile.OnlyValuesOf(shownKeys()...))
	if err != nil {
		return nil, err
	}
	for i := range f.Models {
		f.Models[i] = f.Models[i].withDefaults()
	}
	if err := check(read, f); err != nil {
		return nil, err
	}
	return newSet(name, f, getenv)
}

// shownKeys are those whose values nobody takes for a secret.
func shownKeys() []string {
	return []string{
		"default", "models", "name", "provider", "bearer", "model", "script", "window", "compact_at", "price", "input", "output",
		"cache_read", "cache_write", "abilities", "images", "reasoning", "tools", "defaults", "max_output_tokens",
		"thinking_tokens", "effort", "pool", "fallbacks", "on",
	}
}

// withDefaults is e with what follows from the rest filled in.
func (e Entry) withDefaults() Entry {
	if e.APIKeyEnv == "" && e.BaseURL == "" {
		e.APIKeyEnv = e.Provider.keyVariable()
	}
	if e.Model == "" {
		e.Model = e.Name
	}
	return e
}

// keyVariable is where the provider's own tools look for the key.
func (p Provider) keyVariable() string {
	switch p {
	case Anthropic:
		return "ANTHROPIC_API_KEY"
	case OpenAI:
		return "OPENAI_API_KEY"
	case OpenAICompatible, Script:
	}
	return ""
}
