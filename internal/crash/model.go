package crash

import (
	"bytes"
	"context"
	"iter"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
)

// Models are the models with a point before each is asked, one when the first
// piece of its answer is there, and one after its last.
func (p *Points) Models(find orchestrator.Models) orchestrator.Models {
	return func(name string) (model.Model, bool) {
		m, ok := find(name)
		return asked{m, p}, ok
	}
}

type asked struct {
	model.Model
	points *Points
}

// TakesImages implements [model.Viewer].
func (a asked) TakesImages() bool { return model.TakesImages(a.Model) }

// Stream implements [model.Model].
func (a asked) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	var k events.Key
	if chat := a.points.chat; chat != "" && bytes.Contains(r.Canonical(), []byte(chat)) {
		k.Chat = chat
	}
	return func(yield func(model.Delta, error) bool) {
		a.points.pass(k, "before asking the model")
		begun := false
		for d, err := range a.Model.Stream(ctx, r) {
			if !begun {
				a.points.pass(k, "after the model began")
				begun = true
			}
			if !yield(d, err) {
				return
			}
		}
		a.points.pass(k, "after the model ended")
	}
}
