package bench

import (
	"context"
	"encoding/json"
	"iter"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// kilobyte is the text of every input, answer and result.
var kilobyte = strings.Repeat("0123456789abcde ", 64)

const (
	modelName = "bench"
	toolName  = "nothing"

	// Group is the group of the tool's process.
	Group = "bench"
	// Concurrency is how many calls that process runs at once.
	Concurrency = slots
)

// instant is a model that calls the tool once and then answers, without delay.
type instant struct{}

// Stream implements [model.Model].
func (instant) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		a := &model.Answer{Parts: []events.Part{events.Text(kilobyte)}, Stop: events.StopEnd}
		if r.Messages[len(r.Messages)-1].Role == model.RoleUser {
			a.Parts = append(a.Parts, events.Part{Type: events.PartCall, Name: toolName, Arguments: "{}"})
			a.Stop = events.StopCalls
		}
		_ = yield(model.Delta{Answer: a}, nil)
	}
}

func models(name string) (model.Model, bool) { return instant{}, name == modelName }

var _ orchestrator.Models = models

// Tool is the tool of the workload.
func Tool() toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name: toolName, Description: "Does nothing.", Schema: json.RawMessage(`{"type":"object"}`),
		Group: Group, ReadOnly: true, Idempotent: true, Policy: events.PolicyAllow,
	}, func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		return toolrunner.Output{Text: kilobyte}, nil
	})
}
