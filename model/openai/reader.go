package openai

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
	"github.com/everturn/everturn/model/internal/wiretap"
)

// reader makes an answer of the events of a stream.
type reader struct {
	provider, model string

	id, answered string // the provider's names of the answer and the model
	parts        []*part
	calls        calls
	field        string // that the model's thoughts came in
	details      details
	refused      bool
	usage        usage

	finish  string // the last reason to stop
	whole   bool
	done    bool // the stream said so itself
	failure []byte
	broken  string // an event that could not be read
	deltas  []model.Delta
}

func newReader(provider, name string) *reader { return &reader{provider: provider, model: name} }

// part is text, or thought, while it grows.
type part struct {
	kind model.DeltaKind
	text strings.Builder
}

// chunk is one event.
type chunk struct {
	ID      string          `json:"id"`
	Model   string          `json:"model"`
	Choices []choice        `json:"choices"`
	Usage   json.RawMessage `json:"usage"`
	Error   json.RawMessage `json:"error"`
	Groq    struct {
		Usage json.RawMessage `json:"usage"`
		Error json.RawMessage `json:"error"`
	} `json:"x_groq"`
}

type choice struct {
	Index  int             `json:"index"`
	Delta  delta           `json:"delta"`
	Finish string          `json:"finish_reason"`
	Usage  json.RawMessage `json:"usage"`
}

type delta struct {
	Content          json.RawMessage   `json:"content"`
	Refusal          string            `json:"refusal"`
	ReasoningContent string            `json:"reasoning_content"`
	Reasoning        json.RawMessage   `json:"reasoning"`
	Details          []json.RawMessage `json:"reasoning_details"`
	Calls            []fragment        `json:"tool_calls"`
}

// done is how a stream says that it has ended.
const done = "[DONE]"

// Event implements [wiretap.Sink].
func (r *reader) Event(name string, data []byte) wiretap.Heard {
	if r.done || r.failure != nil {
		return wiretap.End // what follows is not part of this answer
	}
	if string(bytes.TrimSpace(data)) == done {
		r.done, r.whole = true, true
		return wiretap.End
	}
	var c chunk
	if err := json.Unmarshal(data, &c); err != nil && !json.Valid(data) {
		if name == "error" {
			return r.fail(data)
		}
		r.broken = "an event is no JSON"
		return wiretap.Nothing
	}
	switch {
	case is(c.Error):
		return r.fail(data)
	case is(c.Groq.Error):
		return r.fail(c.Groq.Error)
	case name == "error":
		return r.fail(data)
	}
	heard := r.take(c)
	if r.whole {
		return wiretap.End
	}
	return heard
}

// is reports whether a field is there and says something.
func is(raw json.RawMessage) bool {
	switch string(raw) {
	case "", "null", "false", `""`, "{}":
		return false
	}
	return true
}

func (r *reader) fail(data []byte) wiretap.Heard {
	r.failure = bytes.Clone(data)
	if len(r.failure) == 0 {
		r.failure = []byte("{}")
	}
	return wiretap.End
}

func (r *reader) take(c chunk) wiretap.Heard {
	heard := wiretap.Nothing
	if c.ID != "" && r.id == "" {
		r.id = c.ID
	}
	if c.Model != "" {
		r.answered = c.Model
	}
	r.usage.set(c.Groq.Usage)
	for i := range c.Choices {
		choice := &c.Choices[i]
		r.usage.set(choice.Usage)
		if choice.Index != 0 {
			continue // nobody asked for a second answer
		}
		if r.grow(&choice.Delta) {
			heard = wiretap.Content
		}
		if choice.Finish != "" {
			r.finish, r.whole = choice.Finish, true
			heard = wiretap.Content
		}
	}
	if r.usage.set(c.Usage) {
		heard = wiretap.Content
	}
	return heard
}

// grow takes a piece of the answer, and says whether there was one.
func (r *reader) grow(d *delta) bool {
	before := len(r.deltas)
	r.details.add(d.Details)
	if thought, field := d.thought(); thought != "" {
		r.field = field
		r.say(model.DeltaReasoning, thought)
	}
	text, thought := content(d.Content)
	if thought != "" {
		r.field = fieldContent
		r.say(model.DeltaReasoning, thought)
	}
	r.say(model.DeltaText, text)
	if d.Refusal != "" {
		r.refused = true
		r.say(model.DeltaText, d.Refusal)
	}
	for _, f := range d.Calls {
		if doubt := r.calls.add(f); doubt != "" {
			r.broken = doubt
		}
		if f.Function.Arguments != "" {
			r.deltas = append(r.deltas, model.Delta{
				Kind: model.DeltaCall, Part: len(r.parts) + r.calls.last, Text: f.Function.Arguments.String(),
			})
		}
	}
	return len(r.deltas) > before || len(d.Calls) > 0 || len(d.Details) > 0
}

// thought is what the model thought, and the field it came in. Some send it in
// both.
func (d *delta) thought() (text, field string) {
	if d.ReasoningContent != "" {
		return d.ReasoningContent, fieldReasoningContent
	}
	if json.Unmarshal(d.Reasoning, &text) == nil && text != "" {
		return text, fieldReasoning
	}
	return "", ""
}

// content is what was said and what was thought. Most send a text; some a list
// of pieces, with the thoughts among them.
func content(raw json.RawMessage) (text, thought string) {
	if json.Unmarshal(raw, &text) == nil {
		return text, ""
	}
	var pieces []struct {
		Type     string          `json:"type"`
		Text     string          `json:"text"`
		Thinking json.RawMessage `json:"thinking"`
	}
	if json.Unmarshal(raw, &pieces) != nil {
		return "", ""
	}
	for _, p := range pieces {
		switch p.Type {
		case "text", "output_text":
			text += p.Text
		case "thinking":
			inner, _ := content(p.Thinking)
			thought += inner
		}
	}
	return text, thought
}

// say adds text to the last part, or begins one.
func (r *reader) say(kind model.DeltaKind, text string) {
	if text == "" {
		return
	}
	last := len(r.parts) - 1
	if last < 0 || r.parts[last].kind != kind {
		r.parts = append(r.parts, &part{kind: kind})
		last++
	}
	r.parts[last].text.WriteString(text)
	r.deltas = append(r.deltas, model.Delta{Kind: kind, Part: last, Text: text})
}

// Take implements [attempt.Reader].
func (r *reader) Take() []model.Delta {
	deltas := r.deltas
	r.deltas = nil
	return deltas
}

// Failure implements [attempt.Reader].
func (r *reader) Failure() []byte {
	if r.failure != nil {
		return r.failure
	}
	return failures[strings.ToLower(r.finish)]
}

// failures are the reasons to stop that are none: something broke.
var failures = map[string][]byte{
	"error":                        []byte(`{"error":{"type":"server_error","message":"the model broke off with an error"}}`),
	"insufficient_system_resource": []byte(`{"error":{"type":"overloaded_error","message":"the provider ran out of resources"}}`),
}

// Whole implements [attempt.Reader].
func (r *reader) Whole() bool { return r.whole }

// Doubt implements [attempt.Reader].
func (r *reader) Doubt(others []attempt.Call) string {
	if r.broken != "" {
		return r.broken
	}
	return r.calls.doubt(others)
}

// Answer implements [attempt.Reader].
func (r *reader) Answer() model.Answer {
	a := model.Answer{
		RawStop:  r.finish,
		Usage:    r.usage.ours(),
		Provider: events.Provider{ResponseID: r.id, Model: r.answered},
		RawUsage: r.usage.reports(),
	}
	opaque := r.opaque()
	for _, p := range r.parts {
		if p.kind == model.DeltaText {
			a.Parts = append(a.Parts, events.Text(p.text.String()))
			continue
		}
		a.Parts = append(a.Parts, r.thought(p.text.String(), opaque))
		opaque = nil // it stands with the first
	}
	if opaque != nil && len(r.details.list) > 0 {
		a.Parts = append([]events.Part{r.thought("", opaque)}, a.Parts...)
	}
	a.Parts = append(a.Parts, r.calls.parts()...)
	a.Stop = r.stop()
	return a
}

func (r *reader) thought(text string, opaque []byte) events.Part {
	return events.Part{Type: events.PartReasoning, Text: text, Opaque: opaque, Provider: r.provider, Model: r.model}
}

// opaque is what has to be known to give the thoughts back, nil if nothing.
func (r *reader) opaque() []byte {
	t := thought{Details: r.details.list}
	if r.field != fieldReasoningContent {
		t.Field = r.field
	}
	if t.Field == "" && len(t.Details) == 0 {
		return nil
	}
	raw, err := json.Marshal(t)
	if err != nil {
		return nil // only if a detail is no JSON, and each was read as such
	}
	return raw
}

// stop is the reason to stop, in our words.
func (r *reader) stop() events.Stop {
	switch strings.ToLower(r.finish) {
	case "length", "max_tokens", "model_length", "max_length":
		return events.StopLength
	case "content_filter", "content-filter", "refusal", "safety", "sensitive":
		return events.StopRefused
	}
	switch {
	case len(r.calls.list) > 0:
		return events.StopCalls
	case r.refused:
		return events.StopRefused
	}
	return events.StopEnd
}
