package models

import (
	"context"
	"fmt"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// keyless stands for a model whose key is not there. The others work all the
// same, and this one says what to do when somebody asks it.
type keyless struct{ variable string }

// Stream implements [model.Model].
func (k keyless) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{}, &model.Error{
			Class:   events.ClassAuth,
			Message: fmt.Sprintf("the environment variable %s, which holds the model's key, is not set where the orchestrator runs", k.variable),
		})
	}
}
