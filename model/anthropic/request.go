package anthropic

import (
	"cmp"
	"encoding/json"

	"charm.land/fantasy"
	library "charm.land/fantasy/providers/anthropic"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/attempt"
)

// call is the request in the library's words.
func (c Config) call(r model.Request) fantasy.Call {
	shape := attempt.Shape{Provider: c.Provider, Images: !c.NoImages, ImagesInResults: true, Own: own}
	prompt := shape.Prompt(r)
	markCache(prompt[:len(prompt)-attempt.Instructions(r)])

	options := &library.ProviderOptions{}
	limit := int64(cmp.Or(r.MaxOutputTokens, c.MaxOutputTokens))
	if c.ThinkingTokens > 0 {
		options.Thinking = &library.ThinkingProviderOption{BudgetTokens: int64(c.ThinkingTokens)}
		limit += int64(c.ThinkingTokens) // what is thought counts as output
	}
	if c.Effort != "" {
		effort := library.Effort(c.Effort)
		options.Effort = &effort
	}
	if len(r.Tools) > 0 {
		// The library keeps only two keys of a schema; a tool's author wrote all
		// of them for a reason.
		options.ExtraBody = map[string]any{"tools": tools(r.Tools)}
	}
	return fantasy.Call{
		Prompt:          prompt,
		MaxOutputTokens: &limit,
		ProviderOptions: fantasy.ProviderOptions{library.Name: options},
	}
}

// tool is a tool on the wire.
type tool struct {
	Name        string          `json:"name"`
	Description string          `json:"description,omitempty"`
	InputSchema json.RawMessage `json:"input_schema"`
	Cache       *cache          `json:"cache_control,omitempty"`
}

type cache struct {
	Type string `json:"type"`
}

// ephemeral is the one kind of cache.
const ephemeral = "ephemeral"

// tools are the tools, with a mark at their end: they change least.
func tools(offered []model.Tool) []tool {
	list := make([]tool, len(offered))
	for i, t := range offered {
		list[i] = tool{Name: t.Name, Description: t.Description, InputSchema: attempt.Schema(t)}
	}
	list[len(list)-1].Cache = &cache{Type: ephemeral}
	return list
}

// markCache marks, in what will be there again at the next step, where the provider may keep what it has read: behind the
// system's text, which stays for the whole chat; at the end, for the next step;
// and at the end of what this step has in common with the one before, as a
// provider looks back only over a few blocks.
func markCache(prompt fantasy.Prompt) {
	mark := func(m *fantasy.Message) {
		m.ProviderOptions = library.NewProviderCacheControlOptions(&library.ProviderCacheControlOptions{
			CacheControl: library.CacheControl{Type: ephemeral},
		})
	}
	if len(prompt) > 0 && prompt[0].Role == fantasy.MessageRoleSystem {
		mark(&prompt[0])
	}
	marks := 0
	for i := len(prompt) - 1; i >= 0 && marks < 2; i-- {
		if isUsers(prompt[i]) && (i == len(prompt)-1 || !isUsers(prompt[i+1])) {
			mark(&prompt[i])
			marks++
		}
	}
}

// isUsers reports whether a message is sent as the user's; neighbours become
// one.
func isUsers(m fantasy.Message) bool {
	return m.Role == fantasy.MessageRoleUser || m.Role == fantasy.MessageRoleTool
}

// thought is what stands in the Opaque of reasoning: one of the two.
type thought struct {
	Signature string `json:"signature,omitempty"`
	Redacted  string `json:"redacted,omitempty"`
}

// own is what a model thought, or did by itself, in the library's words.
func own(p events.Part) (fantasy.MessagePart, bool) {
	switch p.Type {
	case events.PartReasoning:
		var t thought
		if json.Unmarshal(p.Opaque, &t) != nil || t == (thought{}) {
			return nil, false // without a signature it is not taken back
		}
		return fantasy.ReasoningPart{Text: p.Text, ProviderOptions: fantasy.ProviderOptions{
			library.Name: &library.ReasoningOptionMetadata{Signature: t.Signature, RedactedData: t.Redacted},
		}}, true
	case events.PartProviderCall:
		var b block
		if json.Unmarshal(p.Opaque, &b) != nil || b.Type != "server_tool_use" || b.Name != webSearch {
			return nil, false
		}
		return fantasy.ToolCallPart{ToolCallID: b.ID, ToolName: b.Name, Input: string(b.Input), ProviderExecuted: true}, true
	case events.PartProviderResult:
		return searchResult(p.Opaque)
	case events.PartText, events.PartCall, events.PartImage, events.PartFile, events.PartSource, events.PartData:
	}
	return nil, false
}

// webSearch is the one tool run by the provider whose results the library can
// give back.
const webSearch = "web_search"

func searchResult(raw []byte) (fantasy.MessagePart, bool) {
	var b struct {
		Type    string          `json:"type"`
		Call    string          `json:"tool_use_id"`
		Content json.RawMessage `json:"content"`
	}
	if json.Unmarshal(raw, &b) != nil || b.Type != "web_search_tool_result" {
		return nil, false
	}
	found := &library.WebSearchResultMetadata{}
	if json.Unmarshal(b.Content, &found.Results) != nil {
		found.Results = nil
		if json.Unmarshal(b.Content, found) != nil {
			return nil, false
		}
	}
	return fantasy.ToolResultPart{
		ToolCallID: b.Call, ProviderExecuted: true,
		Output:          fantasy.ToolResultOutputContentText{},
		ProviderOptions: fantasy.ProviderOptions{library.Name: found},
	}, true
}
