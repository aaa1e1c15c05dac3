package system

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
)

// models are those of a system, by name: each chat has one of its own.
type models struct {
	mu    sync.Mutex
	named map[string]*provider
}

func (m *models) find(name string) (model.Model, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	p, ok := m.named[name]
	return p, ok
}

// add gives a model a name and a provider that stands before it.
func (m *models) add(name string, answers model.Model) *provider {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.named == nil {
		m.named = map[string]*provider{}
	}
	p := &provider{answers: answers}
	m.named[name] = p
	return p
}

// scripted is a model that follows a script.
func scripted(t *testing.T, source string) model.Model {
	t.Helper()
	m, err := script.Parse(t.Name(), []byte(source))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// toolThenText is the script of a model that answers first as given and then
// repeats the results of its calls.
func toolThenText(first string) string {
	return "rules:\n  - when: {step: 1}\n    answer:\n" + first +
		"\n  - answer:\n      - text: \"The tool said: {{result}}\"\n"
}

// plain is a model that repeats what it is told.
const plain = "rules:\n  - answer:\n      - text: \"You wrote: {{input}}\"\n"

// What is said to find out whether a chat still works, and the answer to it.
const (
	areYouThere = "Are you still there?"
	iAmHere     = "I am still here."
)

// provider stands before a model as those for sale do: what is not well formed
// is refused, again and again while it is in the history. It notes every request.
type provider struct {
	answers model.Model

	mu       sync.Mutex
	requests []model.Request
}

// Stream implements [model.Model].
func (p *provider) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	p.mu.Lock()
	p.requests = append(p.requests, r)
	p.mu.Unlock()
	if wrong := malformed(r); wrong != "" {
		return func(yield func(model.Delta, error) bool) {
			yield(model.Delta{}, &model.Error{Class: events.ClassInvalidRequest, Message: wrong})
		}
	}
	if textOf(r.Messages[len(r.Messages)-1].Parts) == areYouThere {
		return answers(events.StopEnd, events.Text(iAmHere))
	}
	return p.answers.Stream(ctx, r)
}

// TakesImages implements [model.Viewer].
func (p *provider) TakesImages() bool { return model.TakesImages(p.answers) }

// asked are the requests that came, in order.
func (p *provider) asked() []model.Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.requests)
}

// last is the newest request.
func (p *provider) last() model.Request {
	asked := p.asked()
	if len(asked) == 0 {
		return model.Request{}
	}
	return asked[len(asked)-1]
}

// answers is a stream that is only its answer.
func answers(stop events.Stop, parts ...events.Part) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		yield(model.Delta{Answer: &model.Answer{Parts: parts, Stop: stop}}, nil)
	}
}

// asModel makes a model of a function.
type asModel func(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error]

// Stream implements [model.Model].
func (f asModel) Stream(ctx context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return f(ctx, r)
}

func textOf(parts []events.Part) string {
	var b strings.Builder
	for _, p := range parts {
		if p.Type == events.PartText {
			b.WriteString(p.Text)
		}
	}
	return b.String()
}

// malformed says what a provider would not take about a request.
func malformed(r model.Request) string {
	if len(r.Messages) == 0 || r.Messages[0].Role != model.RoleUser {
		return "the first message is not the user's"
	}
	ids := map[string]bool{}
	var open []string // ids of calls whose results must come next
	for i, m := range r.Messages {
		if m.Role != model.RoleTool && len(open) > 0 {
			return fmt.Sprintf("message %d: calls %v have no results", i, open)
		}
		if m.Role == model.RoleTool {
			got := make([]string, len(m.Results))
			for j, result := range m.Results {
				got[j] = result.WireID
				if wrong := badBlocks(result.Parts); wrong != "" {
					return fmt.Sprintf("message %d: result %s: %s", i, result.WireID, wrong)
				}
			}
			if !slices.Equal(got, open) {
				return fmt.Sprintf("message %d: results of %v, want those of %v", i, got, open)
			}
			open = nil
			continue
		}
		if wrong := badBlocks(m.Parts); wrong != "" {
			return fmt.Sprintf("message %d: %s", i, wrong)
		}
		for _, p := range m.Parts {
			if p.Type != events.PartCall {
				continue
			}
			if p.ProviderID == "" || ids[p.ProviderID] {
				return fmt.Sprintf("message %d: the call id %q is missing or repeated", i, p.ProviderID)
			}
			ids[p.ProviderID] = true
			open = append(open, p.ProviderID)
		}
	}
	return ""
}

// badBlocks says what is wrong with the blocks of one message.
func badBlocks(parts []events.Part) string {
	if len(parts) == 0 {
		return "it is empty"
	}
	for _, p := range parts {
		if !utf8.ValidString(p.Text) || strings.ContainsRune(p.Text, 0) {
			return "its text is not valid"
		}
		switch p.Type {
		case events.PartText:
			if strings.TrimFunc(p.Text, func(r rune) bool { return unicode.IsSpace(r) || unicode.Is(unicode.Cf, r) }) == "" {
				return "a text block is empty"
			}
		case events.PartCall:
			var object map[string]any
			if json.Unmarshal([]byte(p.Arguments), &object) != nil || object == nil {
				return "the arguments of a call are no JSON object"
			}
		default:
		}
	}
	return ""
}
