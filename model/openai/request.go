package openai

import (
	"cmp"
	"encoding/json"
	"strings"

	"charm.land/fantasy"
	"charm.land/fantasy/providers/openai"
	library "charm.land/fantasy/providers/openaicompat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
	wire "github.com/openai/openai-go/v3"
)

// call is the request in the library's words.
func (c Config) call(r model.Request) fantasy.Call {
	shape := attempt.Shape{Provider: c.Provider, Images: !c.NoImages, Own: own}
	call := fantasy.Call{Prompt: joined(shape.Prompt(r)), Tools: tools(r.Tools)}
	if limit := int64(cmp.Or(r.MaxOutputTokens, c.MaxOutputTokens)); limit > 0 {
		call.MaxOutputTokens = &limit
	}
	if c.Effort != "" {
		effort := openai.ReasoningEffort(c.Effort)
		call.ProviderOptions = library.NewProviderOptions(&library.ProviderOptions{ReasoningEffort: &effort})
	}
	return call
}

func tools(offered []model.Tool) []fantasy.Tool {
	var list []fantasy.Tool
	for _, t := range offered {
		list = append(list, fantasy.FunctionTool{Name: t.Name, Description: t.Description, InputSchema: schema(t)})
	}
	return list
}

// schema is a tool's schema, each of its keys as it was written.
func schema(t model.Tool) map[string]any {
	var keys map[string]json.RawMessage
	if json.Unmarshal(attempt.Schema(t), &keys) != nil {
		return map[string]any{"type": "object"} // the schema true: anything goes
	}
	schema := make(map[string]any, len(keys))
	for key, value := range keys {
		schema[key] = value
	}
	return schema
}

// thought is what stands in the Opaque of reasoning: where in a message it
// stood, and what came along with it.
type thought struct {
	Field   string            `json:"field,omitempty"` // empty: reasoning_content
	Details []json.RawMessage `json:"details,omitempty"`
}

// The fields of a message that hold what a model thought.
const (
	fieldReasoningContent = "reasoning_content"
	fieldReasoning        = "reasoning"
	fieldContent          = "content" // not a field of its own: there is no place to put it back
)

// thoughtOption carries a thought through the library, which knows only one of
// the fields.
type thoughtOption struct{ thought }

// Options implements [fantasy.ProviderOptionsData].
func (*thoughtOption) Options() {}

// MarshalJSON implements [fantasy.ProviderOptionsData].
func (o *thoughtOption) MarshalJSON() ([]byte, error) { return json.Marshal(o.thought) }

// UnmarshalJSON implements [fantasy.ProviderOptionsData].
func (o *thoughtOption) UnmarshalJSON(raw []byte) error { return json.Unmarshal(raw, &o.thought) }

// own is what a model thought, in the library's words.
func own(p events.Part) (fantasy.MessagePart, bool) {
	if p.Type != events.PartReasoning {
		return nil, false
	}
	var t thought
	if len(p.Opaque) > 0 && json.Unmarshal(p.Opaque, &t) != nil || t.Field == fieldContent {
		return nil, false
	}
	return fantasy.ReasoningPart{Text: p.Text, ProviderOptions: fantasy.ProviderOptions{library.Name: &thoughtOption{t}}}, true
}

// joined is the prompt with one text and one thought at most in each message of
// the assistant: the format has one place for each, and of several the library
// would send the last.
func joined(prompt fantasy.Prompt) fantasy.Prompt {
	for i := range prompt {
		m := &prompt[i]
		if m.Role != fantasy.MessageRoleAssistant {
			continue
		}
		var texts, thoughts []string
		var kept thought
		var calls []fantasy.MessagePart
		for _, part := range m.Content {
			switch part := part.(type) {
			case fantasy.TextPart:
				texts = append(texts, part.Text)
			case fantasy.ReasoningPart:
				thoughts = append(thoughts, part.Text)
				if option, ok := part.ProviderOptions[library.Name].(*thoughtOption); ok {
					kept.Field = option.Field
					kept.Details = append(kept.Details, option.Details...)
				}
			default:
				calls = append(calls, part)
			}
		}
		m.Content = nil
		if thoughts != nil {
			m.ProviderOptions = fantasy.ProviderOptions{library.Name: &thoughtOption{kept}}
			m.Content = append(m.Content, fantasy.ReasoningPart{Text: strings.Join(thoughts, "")})
		}
		if texts != nil {
			m.Content = append(m.Content, fantasy.TextPart{Text: strings.Join(texts, "")})
		}
		m.Content = append(m.Content, calls...)
	}
	return prompt
}

// encode is the library's encoding, with what the model thought in the field
// that it came in. The library works message by message, so each is encoded
// alone.
func encode(prompt fantasy.Prompt, provider, name string) ([]wire.ChatCompletionMessageParamUnion, []fantasy.CallWarning) {
	var messages []wire.ChatCompletionMessageParamUnion
	var warnings []fantasy.CallWarning
	for i := range prompt {
		encoded, doubts := library.ToPromptFunc(prompt[i:i+1], provider, name)
		warnings = append(warnings, doubts...)
		option, ok := prompt[i].ProviderOptions[library.Name].(*thoughtOption)
		for _, m := range encoded {
			if ok && m.OfAssistant != nil {
				m.OfAssistant.SetExtraFields(fields(prompt[i], option.thought))
			}
		}
		messages = append(messages, encoded...)
	}
	return messages, warnings
}

// fields are the fields of a message that say what the model thought.
func fields(m fantasy.Message, t thought) map[string]any {
	extra := make(map[string]any)
	if reasoning, ok := m.Content[0].(fantasy.ReasoningPart); ok && (reasoning.Text != "" || len(t.Details) == 0) {
		extra[cmp.Or(t.Field, fieldReasoningContent)] = reasoning.Text
	}
	if len(t.Details) > 0 {
		extra["reasoning_details"] = t.Details
	}
	return extra
}
