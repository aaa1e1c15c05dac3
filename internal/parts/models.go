package parts

import (
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
)

// ScriptModel is the name of the model that follows a script.
const ScriptModel = "script"

// ModelFlags say which models are there to be asked.
type ModelFlags struct {
	Script string `type:"existingfile" env:"EVERTURN_SCRIPT" placeholder:"FILE" help:"What the scripted model answers; see docs/SCRIPT.md. Default: a small demonstration."`
	Model  string `env:"EVERTURN_MODEL" default:"script" help:"Model of chats that name none."`
	System string `env:"EVERTURN_SYSTEM" help:"System prompt of chats that bring none."`
}

// Models gives the models and the settings of a chat that says nothing else.
func (f ModelFlags) Models() (orchestrator.Models, events.Settings, error) {
	scripted := script.Demo()
	if f.Script != "" {
		loaded, err := script.Load(f.Script)
		if err != nil {
			return nil, events.Settings{}, err
		}
		scripted = loaded
	}
	find := func(name string) (model.Model, bool) {
		if name == ScriptModel {
			return scripted, true
		}
		return nil, false
	}
	return find, events.Settings{Model: f.Model, System: f.System}, nil
}
