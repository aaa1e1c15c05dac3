package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"log/slog"
	"slices"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// chain is a model with others that stand in for it. It implements
// [model.Model].
//
// Another one is asked only if the model failed with a class that is named for
// it, and nobody has said a word yet: what was shown to a watcher is never
// taken back. All of it is one attempt. Its answer says which model really gave
// it, and counts what the others have used. If none answers the failure is the
// model's own, with a word about the others.
type chain struct {
	first *candidate
	rest  []alternative
	log   *slog.Logger
}

// alternative is a model that stands in on some classes of errors.
type alternative struct {
	*candidate
	on []events.ErrorClass
}

// Stream implements [model.Model].
func (c *chain) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		t := trying{yield: yield}
		failed, ended := t.ask(ctx, c.first, r)
		if ended {
			return
		}
		asked := c.first.name
		for _, next := range c.rest {
			if !slices.Contains(next.on, failed.Class) || ctx.Err() != nil {
				continue
			}
			c.log.Warn("another model is asked", "model", c.first.name, "failed", asked, "class", failed.Class, "next", next.name)
			also, ended := t.ask(ctx, next.candidate, r)
			if ended {
				return
			}
			failed, asked = withAlso(failed, next.name, also), next.name
		}
		told := *failed
		told.Usage, told.CostMicros = t.used, t.spent
		yield(model.Delta{}, &told)
	}
}

// TakesImages implements [model.Viewer]: who stands in can do what the first can.
func (c *chain) TakesImages() bool { return c.first.TakesImages() }

// withAlso is the first failure with a word about that of another model. Its
// class stays: it is the model the chat wants, and it says whether to try again.
func withAlso(first *model.Error, name string, also *model.Error) *model.Error {
	told := *first
	told.Message = fmt.Sprintf("%s; %s: %s: %s", first.Message, name, also.Class, also.Message)
	told.Err = errors.Join(first.Err, also.Err)
	return &told
}

// trying is one attempt over several models.
type trying struct {
	yield func(model.Delta, error) bool
	used  events.Usage // by those that failed
	spent *int64       // by those that failed; nil if nobody knows
	paid  bool         // something was used by one that failed
}

// ask hands on what one model says. It gives the failure if another one may be
// asked; else the attempt has ended.
func (t *trying) ask(ctx context.Context, c *candidate, r model.Request) (failed *model.Error, ended bool) {
	spoke := false
	for d, err := range c.Stream(ctx, r) {
		known, isKnown := errors.AsType[*model.Error](err)
		switch {
		case err != nil && isKnown && !spoke:
			t.failed(known)
			return known, false
		case isKnown:
			t.failed(known)
			told := *known
			told.Usage, told.CostMicros = t.used, t.spent
			t.yield(d, &told)
			return nil, true
		case err != nil:
			t.yield(d, err)
			return nil, true
		case d.Answer != nil:
			t.yield(model.Delta{Answer: t.charged(*d.Answer)}, nil)
			return nil, true
		}
		spoke = spoke || d.Text != "" // an empty one is a sign of life
		if !t.yield(d, nil) {
			return nil, true
		}
	}
	return nil, true // it broke its promise; whoever listens sees that no answer came
}

func (t *trying) failed(err *model.Error) {
	if err.Usage == (events.Usage{}) {
		return
	}
	cost := err.CostMicros
	if t.paid {
		cost = events.PlusCost(t.spent, cost)
	}
	t.spent, t.paid = cost, true
	t.used = t.used.Plus(err.Usage)
}

// charged is the answer with what those before it have used.
func (t *trying) charged(a model.Answer) *model.Answer {
	if t.paid {
		a.Usage = a.Usage.Plus(t.used)
		a.CostMicros = events.PlusCost(a.CostMicros, t.spent)
	}
	return &a
}
