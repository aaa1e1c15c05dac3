package models

import (
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/yamlfile"
)

const (
	maxNameBytes = 80
	maxTokens    = 1 << 40 // of a window or a bound: more is a slip
)

var (
	variableName = regexp.MustCompile(`^[A-Z_][A-Z0-9_]*$`)
	poolName     = regexp.MustCompile(`^[a-z0-9_-]{1,32}$`)
)

// check says everything that is wrong with a file that could be read.
func check(read *yamlfile.File, f file) error {
	c := checker{read, f}
	if len(f.Models) == 0 {
		c.Wrong("$", "there are no models")
	}
	if f.Default != "" && !c.known(f.Default) {
		c.Wrong("$.default", "%s", c.unknown(f.Default))
	}
	if f.Reviewer != "" && !c.known(f.Reviewer) {
		c.Wrong("$.reviewer", "%s", c.unknown(f.Reviewer))
	}
	if f.Titler != "" && !c.known(f.Titler) {
		c.Wrong("$.titler", "%s", c.unknown(f.Titler))
	}
	for i, e := range f.Models {
		c.entry(fmt.Sprintf("$.models[%d]", i), i, e)
	}
	return read.Err()
}

type checker struct {
	*yamlfile.File

	file file
}

func (c *checker) known(name string) bool {
	return name == ScriptModel || slices.ContainsFunc(c.file.Models, func(e Entry) bool { return e.Name == name })
}

func (c *checker) unknown(name string) string {
	var names []string
	for _, e := range c.file.Models {
		names = append(names, e.Name)
	}
	return fmt.Sprintf("no model is called %.*q; there are %s", maxNameBytes, name, strings.Join(names, ", "))
}

func (c *checker) entry(path string, i int, e Entry) {
	first := slices.IndexFunc(c.file.Models, func(other Entry) bool { return other.Name == e.Name })
	switch {
	case e.Name == "":
		c.Wrong(path, "name is missing: it is what chats call the model")
	case len(e.Name) > maxNameBytes:
		c.Wrong(path+".name", "name is longer than %d bytes", maxNameBytes)
	case first < i:
		c.Wrong(path+".name", "%s is there already", e.Name)
	case e.Name == ScriptModel && e.Provider != Script:
		c.Wrong(path+".name", "the name %s is kept for the scripted model", ScriptModel)
	}
	if e.Pool != "" && !poolName.MatchString(e.Pool) {
		c.Wrong(path+".pool", "pool is %q: want 1 to 32 of a-z, 0-9, _ and -", e.Pool)
	}
	if e.Window < 0 || e.Window > maxTokens {
		c.Wrong(path+".window", "window is %d: want a number of tokens", e.Window)
	}
	if e.CompactAt < 0 || e.CompactAt > chat.MaxCompactAt {
		c.Wrong(path+".compact_at", "compact_at is %d: want a percentage of the window, 100 to compact nothing", e.CompactAt)
	}
	c.provider(path, e)
	c.defaults(path+".defaults", e)
	c.price(path+".price", e.Price)
	c.fallbacks(path, e)
}

func (c *checker) provider(path string, e Entry) {
	foreign := func(key string, set bool) {
		if set {
			c.Wrong(path+"."+key, "%s says nothing to the provider %s", key, e.Provider)
		}
	}
	switch e.Provider {
	case Anthropic, OpenAI:
		foreign("script", e.Script != "")
	case OpenAICompatible:
		foreign("script", e.Script != "")
		if e.BaseURL == "" {
			c.Wrong(path, "base_url is missing: %s can be anywhere", OpenAICompatible)
		}
	case Script:
		foreign("base_url", e.BaseURL != "")
		foreign("api_key_env", e.APIKeyEnv != "")
	case "":
		c.Wrong(path, "provider is missing: want %s", providers())
	default:
		c.Wrong(path+".provider", "provider is %.40q: want %s", e.Provider, providers())
	}
	if e.Bearer && e.Provider != Anthropic {
		c.Wrong(path+".bearer", "bearer is for %s; the others always send the key so", Anthropic)
	}
	if e.APIKeyEnv != "" && !variableName.MatchString(e.APIKeyEnv) {
		// It may be the key itself, so it is not shown.
		c.Wrong(path+".api_key_env", "api_key_env must be the name of an environment variable, such as %s; a key has no place here", Anthropic.keyVariable())
	}
	if e.BaseURL == "" {
		return
	}
	switch u, err := url.Parse(e.BaseURL); {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.Wrong(path+".base_url", "base_url must be an address such as https://example.com/v1")
	case u.User != nil || u.RawQuery != "":
		c.Wrong(path+".base_url", "base_url must hold no user, password or query: a key comes from the variable that api_key_env names")
	}
}

func providers() string {
	return fmt.Sprintf("%s, %s, %s or %s", Anthropic, OpenAI, OpenAICompatible, Script)
}

func (c *checker) defaults(path string, e Entry) {
	d := e.Defaults
	if d.MaxOutputTokens < 0 || d.MaxOutputTokens > maxTokens {
		c.Wrong(path+".max_output_tokens", "max_output_tokens is %d: want a number of tokens, or 0 for the provider's", d.MaxOutputTokens)
	}
	if d.ThinkingTokens != 0 && e.Provider != Anthropic {
		c.Wrong(path+".thinking_tokens", "thinking_tokens is for %s; others have effort", Anthropic)
	}
	if !can(e.Abilities.Reasoning) && (d.ThinkingTokens != 0 || d.Effort != "") {
		c.Wrong(path, "the model has no ability to reason, so it takes neither thinking_tokens nor effort")
	}
}

func (c *checker) price(path string, p *Price) {
	if p == nil {
		return
	}
	if p.Input == nil || p.Output == nil {
		c.Wrong(path, "a price has input and output; leave all of it out if you do not know it")
	}
	for _, kind := range p.kinds() {
		if v := kind.price; v != nil && (*v < 0 || *v > maxPrice) {
			c.Wrong(path+"."+kind.name, "%s is %d: want millionths of the currency for a million tokens", kind.name, *v)
		}
	}
}

// fallbacks wants those that can stand in: what the model can do they must be
// able to do too, and nobody is asked twice.
func (c *checker) fallbacks(path string, e Entry) {
	for i, f := range e.Fallbacks {
		at := fmt.Sprintf("%s.fallbacks[%d]", path, i)
		j := slices.IndexFunc(c.file.Models, func(other Entry) bool { return other.Name == f.Model })
		switch {
		case f.Model == e.Name:
			c.Wrong(at+".model", "a model cannot stand in for itself")
		case slices.IndexFunc(e.Fallbacks, func(other Fallback) bool { return other.Model == f.Model }) < i:
			c.Wrong(at+".model", "%s is there already", f.Model)
		case j < 0:
			c.Wrong(at+".model", "%s", c.unknown(f.Model))
		default:
			if missing := lacks(c.file.Models[j].Abilities, e.Abilities); missing != "" {
				c.Wrong(at+".model", "%s has no %s, which %s has", f.Model, missing, e.Name)
			}
		}
		if len(f.On) == 0 {
			c.Wrong(at, "on is missing: it lists the classes of errors that lead to %s", f.Model)
		}
		for k, class := range f.On {
			if !slices.Contains(fallbackClasses(), class) {
				c.Wrong(fmt.Sprintf("%s.on[%d]", at, k), "%.40q is no class that another model can help with: want some of %s", class, joined(fallbackClasses()))
			}
		}
	}
}

// lacks names an ability that have is without and want is not.
func lacks(have, want Abilities) string {
	switch {
	case can(want.Images) && !can(have.Images):
		return "images"
	case can(want.Tools) && !can(have.Tools):
		return "tools"
	}
	return ""
}

// fallbackClasses are the failures that can happen before a model has said
// anything and that say something about the model or its provider. What is wrong
// with the request is wrong everywhere.
func fallbackClasses() []events.ErrorClass {
	return []events.ErrorClass{
		events.ClassOverloaded, events.ClassRateLimit, events.ClassQuota, events.ClassAuth, events.ClassTimeout,
		events.ClassStreamSilence, events.ClassTransport, events.ClassIncomplete, events.ClassInternal,
		events.ClassContextTooLarge, events.ClassContentFilter, events.ClassUnknown,
	}
}

func joined(classes []events.ErrorClass) string {
	words := make([]string, len(classes))
	for i, class := range classes {
		words[i] = string(class)
	}
	return strings.Join(words, ", ")
}
