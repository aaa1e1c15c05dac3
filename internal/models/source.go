package models

import (
	"fmt"
	"os"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
)

// Source says where the models come from. Embed it in a kong command.
type Source struct {
	ModelsFile string `name:"models" type:"existingfile" env:"EVERTURN_MODELS" placeholder:"FILE" help:"A models.yaml; see docs/MODELS.md. Default: what ANTHROPIC_API_KEY or OPENAI_API_KEY give, else the scripted model."`
	Script     string `type:"existingfile" env:"EVERTURN_SCRIPT" placeholder:"FILE" help:"What the scripted model answers; see docs/SCRIPT.md. Default: a small demonstration."`
	Model      string `env:"EVERTURN_MODEL" placeholder:"NAME" help:"Model of chats that name none. Default: that of the models.yaml, or the provider's whose key is there."`
	System     string `env:"EVERTURN_SYSTEM" placeholder:"TEXT" help:"System prompt of chats that bring none."`
}

// Load gives the models. An error is about what the user said.
func (f Source) Load() (*Set, error) { return f.load(os.Getenv) }

func (f Source) load(getenv func(string) string) (*Set, error) {
	scripted := script.Demo()
	if f.Script != "" {
		loaded, err := script.Load(f.Script)
		if err != nil {
			return nil, err
		}
		scripted = loaded
	}
	s, err := f.source(getenv, scripted)
	if err != nil {
		return nil, err
	}
	if f.Script != "" { // who brings a script wants to hear it
		s.Default, s.Note = ScriptModel, ""
	}
	if f.Model == "" {
		return s, nil
	}
	if _, ok := s.Find(f.Model); !ok {
		return nil, fmt.Errorf("--model %.80q: there is no such model; `everturn models list` shows those there are", f.Model)
	}
	s.Default, s.Note = f.Model, ""
	return s, nil
}

func (f Source) source(getenv func(string) string, scripted *script.Model) (*Set, error) {
	if f.ModelsFile == "" {
		return fromEnvironment(getenv, scripted)
	}
	s, err := Load(f.ModelsFile)
	if err != nil {
		return nil, err
	}
	if _, ok := s.found[ScriptModel]; !ok || f.Script != "" {
		s.found[ScriptModel] = scripted
	}
	return s, nil
}

// Configure puts the models into the configuration of an orchestrator: what
// chats get that say nothing else, who asks which model, and where it is told
// that another one was asked. What the configuration says of pools counts more.
func (f Source) Configure(cfg *orchestrator.Config, s *Set) {
	cfg.Defaults = events.Settings{Model: s.Default, System: f.System, Reviewer: s.Reviewer, Titler: s.Titler}
	if cfg.Log != nil {
		s.logTo(cfg.Log)
	}
	s.pool(cfg)
}
