package models

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// candidate is a model with what its entry says about it. It implements
// [model.Model]. It shows the model what it can take, and knows what it costs.
type candidate struct {
	name    string
	model   model.Model
	price   *Price
	noTools bool
}

// Stream implements [model.Model].
func (c *candidate) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	r.Model = c.name
	if c.noTools {
		r = withoutTools(r)
	}
	return func(yield func(model.Delta, error) bool) {
		for d, err := range c.model.Stream(ctx, r) {
			if err == nil && d.Answer != nil {
				answer := *d.Answer
				if answer.CostMicros == nil {
					answer.CostMicros = c.price.Cost(answer.Usage)
				}
				if answer.Provider.Model == "" {
					answer.Provider.Model = c.name
				}
				d.Answer = &answer
			}
			if known, ok := errors.AsType[*model.Error](err); ok && known.CostMicros == nil && known.Usage != (events.Usage{}) {
				priced := *known
				priced.CostMicros = c.price.Cost(known.Usage)
				err = &priced
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

// TakesImages implements [model.Viewer].
func (c *candidate) TakesImages() bool { return model.TakesImages(c.model) }

// withoutTools is r for a model that knows no tools: none is offered, and what
// tools did before it came into the chat is told as text.
func withoutTools(r model.Request) model.Request {
	r.Tools = nil
	messages := make([]model.Message, len(r.Messages))
	for i, m := range r.Messages {
		messages[i] = m
		switch m.Role {
		case model.RoleTool:
			messages[i] = model.Message{Role: model.RoleUser}
			for _, result := range m.Results {
				messages[i].Parts = append(messages[i].Parts, events.Text(fmt.Sprintf("[result of %s: %s]", result.Name, textOf(result.Parts))))
			}
		case model.RoleAssistant:
			messages[i].Parts = make([]events.Part, len(m.Parts))
			for j, p := range m.Parts {
				if p.Type == events.PartCall {
					p = events.Text(fmt.Sprintf("[call of %s with %s]", p.Name, p.Arguments))
				}
				messages[i].Parts[j] = p
			}
		case model.RoleUser:
		}
	}
	r.Messages = messages
	return r
}

func textOf(parts []events.Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text + p.JSON)
	}
	return b.String()
}
