package models

import (
	"fmt"
	"path/filepath"

	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/anthropic"
	"github.com/everturn/everturn/model/openai"
	"github.com/everturn/everturn/model/script"
)

// build makes the adapter of an entry. It makes no request. Scripts are looked
// for in folder.
func build(e Entry, key, folder string) (model.Model, error) {
	switch e.Provider {
	case Anthropic:
		return anthropic.New(anthropic.Config{
			Provider: string(e.Provider), BaseURL: e.BaseURL, Key: key, Bearer: e.Bearer, Model: e.Model,
			MaxOutputTokens: e.Defaults.MaxOutputTokens, ThinkingTokens: e.Defaults.ThinkingTokens, Effort: e.Defaults.Effort,
			NoImages: !can(e.Abilities.Images),
		})
	case OpenAI, OpenAICompatible:
		return openai.New(openai.Config{
			Provider: string(e.Provider), BaseURL: e.BaseURL, Key: key, Model: e.Model,
			MaxOutputTokens: e.Defaults.MaxOutputTokens, Effort: e.Defaults.Effort,
			NoImages: !can(e.Abilities.Images),
		})
	case Script:
		if e.Script == "" {
			return script.Demo(), nil
		}
		path := e.Script
		if !filepath.IsAbs(path) {
			path = filepath.Join(folder, path)
		}
		return script.Load(path)
	}
	return nil, fmt.Errorf("provider %q is not known", e.Provider)
}
