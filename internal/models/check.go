package models

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/everturn/everturn/events"
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
func check(name string, source []byte, f file) error {
	c := checker{name: name, file: f}
	c.tree, _ = parser.ParseBytes(source, 0) // it has been parsed once; without it places are missing, no more
	if len(f.Models) == 0 {
		c.wrong("$", "there are no models")
	}
	if f.Default != "" && !c.known(f.Default) {
		c.wrong("$.default", "%s", c.unknown(f.Default))
	}
	for i, e := range f.Models {
		c.entry(fmt.Sprintf("$.models[%d]", i), i, e)
	}
	return errors.Join(c.errs...)
}

type checker struct {
	name string
	file file
	tree *ast.File
	errs []error
}

// wrong notes a problem with what the path names, or with the nearest thing
// around it that is there.
func (c *checker) wrong(path, format string, args ...any) {
	line, column := 1, 1
	for at := path; at != ""; at = at[:max(strings.LastIndexAny(at, ".["), 0)] {
		if pos, ok := c.position(at); ok {
			line, column = pos.Line, pos.Column
			break
		}
	}
	c.errs = append(c.errs, fmt.Errorf("%s:%d:%d: %s", c.name, line, column, fmt.Sprintf(format, args...)))
}

// place is a line and a column.
type place struct{ Line, Column int }

func (c *checker) position(path string) (place, bool) {
	if c.tree == nil {
		return place{}, false
	}
	p, err := yaml.PathString(path)
	if err != nil {
		return place{}, false
	}
	node, err := p.FilterFile(c.tree)
	if err != nil || node == nil || node.GetToken() == nil {
		return place{}, false
	}
	t := node.GetToken()
	if m, ok := node.(*ast.MappingNode); ok && len(m.Values) > 0 {
		t = m.Values[0].Key.GetToken()
	}
	if m, ok := node.(*ast.MappingValueNode); ok {
		t = m.Key.GetToken()
	}
	if t.Position == nil {
		return place{}, false
	}
	return place{t.Position.Line, t.Position.Column}, true
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
		c.wrong(path, "name is missing: it is what chats call the model")
	case len(e.Name) > maxNameBytes:
		c.wrong(path+".name", "name is longer than %d bytes", maxNameBytes)
	case first < i:
		c.wrong(path+".name", "%s is there already", e.Name)
	case e.Name == ScriptModel && e.Provider != Script:
		c.wrong(path+".name", "the name %s is kept for the scripted model", ScriptModel)
	}
	if e.Pool != "" && !poolName.MatchString(e.Pool) {
		c.wrong(path+".pool", "pool is %q: want 1 to 32 of a-z, 0-9, _ and -", e.Pool)
	}
	if e.Window < 0 || e.Window > maxTokens {
		c.wrong(path+".window", "window is %d: want a number of tokens", e.Window)
	}
	c.provider(path, e)
	c.defaults(path+".defaults", e)
	c.price(path+".price", e.Price)
	c.fallbacks(path, e)
}

func (c *checker) provider(path string, e Entry) {
	foreign := func(key string, set bool) {
		if set {
			c.wrong(path+"."+key, "%s says nothing to the provider %s", key, e.Provider)
		}
	}
	switch e.Provider {
	case Anthropic, OpenAI:
		foreign("script", e.Script != "")
	case OpenAICompatible:
		foreign("script", e.Script != "")
		if e.BaseURL == "" {
			c.wrong(path, "base_url is missing: %s can be anywhere", OpenAICompatible)
		}
	case Script:
		foreign("base_url", e.BaseURL != "")
		foreign("api_key_env", e.APIKeyEnv != "")
	case "":
		c.wrong(path, "provider is missing: want %s", providers())
	default:
		c.wrong(path+".provider", "provider is %.40q: want %s", e.Provider, providers())
	}
	if e.Bearer && e.Provider != Anthropic {
		c.wrong(path+".bearer", "bearer is for %s; the others always send the key so", Anthropic)
	}
	if e.APIKeyEnv != "" && !variableName.MatchString(e.APIKeyEnv) {
		// It may be the key itself, so it is not shown.
		c.wrong(path+".api_key_env", "api_key_env must be the name of an environment variable, such as %s; a key has no place here", Anthropic.keyVariable())
	}
	if e.BaseURL == "" {
		return
	}
	switch u, err := url.Parse(e.BaseURL); {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		c.wrong(path+".base_url", "base_url must be an address such as https://example.com/v1")
	case u.User != nil || u.RawQuery != "":
		c.wrong(path+".base_url", "base_url must hold no user, password or query: a key comes from the variable that api_key_env names")
	}
}

func providers() string {
	return fmt.Sprintf("%s, %s, %s or %s", Anthropic, OpenAI, OpenAICompatible, Script)
}

func (c *checker) defaults(path string, e Entry) {
	d := e.Defaults
	if d.MaxOutputTokens < 0 || d.MaxOutputTokens > maxTokens {
		c.wrong(path+".max_output_tokens", "max_output_tokens is %d: want a number of tokens, or 0 for the provider's", d.MaxOutputTokens)
	}
	if d.ThinkingTokens != 0 && e.Provider != Anthropic {
		c.wrong(path+".thinking_tokens", "thinking_tokens is for %s; others have effort", Anthropic)
	}
	if !can(e.Abilities.Reasoning) && (d.ThinkingTokens != 0 || d.Effort != "") {
		c.wrong(path, "the model has no ability to reason, so it takes neither thinking_tokens nor effort")
	}
}

func (c *checker) price(path string, p *Price) {
	if p == nil {
		return
	}
	if p.Input == nil || p.Output == nil {
		c.wrong(path, "a price has input and output; leave all of it out if you do not know it")
	}
	for _, kind := range p.kinds() {
		if v := kind.price; v != nil && (*v < 0 || *v > maxPrice) {
			c.wrong(path+"."+kind.name, "%s is %d: want millionths of the currency for a million tokens", kind.name, *v)
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
			c.wrong(at+".model", "a model cannot stand in for itself")
		case slices.IndexFunc(e.Fallbacks, func(other Fallback) bool { return other.Model == f.Model }) < i:
			c.wrong(at+".model", "%s is there already", f.Model)
		case j < 0:
			c.wrong(at+".model", "%s", c.unknown(f.Model))
		default:
			if missing := lacks(c.file.Models[j].Abilities, e.Abilities); missing != "" {
				c.wrong(at+".model", "%s has no %s, which %s has", f.Model, missing, e.Name)
			}
		}
		if len(f.On) == 0 {
			c.wrong(at, "on is missing: it lists the classes of errors that lead to %s", f.Model)
		}
		for k, class := range f.On {
			if !slices.Contains(fallbackClasses(), class) {
				c.wrong(fmt.Sprintf("%s.on[%d]", at, k), "%.40q is no class that another model can help with: want some of %s", class, joined(fallbackClasses()))
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
