package openai_test

import (
	"encoding/base64"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/everturn/everturn/model/openai"
	"github.com/google/go-cmp/cmp"
)

// What a model thought goes back with the call that belongs to it, in the field
// it came in, byte for byte, in the second request and in the third.
func TestB19(t *testing.T) {
	t.Parallel()
	think := func(n, fields string) string {
		return stage.Events(`{"id":"r`+n+`","choices":[{"index":0,"delta":{`+fields+`},"finish_reason":null}]}`,
			`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_`+n+`","function":{"name":"look","arguments":"{\"n\":`+n+`}"}}]},"finish_reason":"tool_calls"}]}`, done)
	}
	for _, tt := range []struct {
		name            string
		first, second   string // what the model thinks before its calls
		echoed, echoed2 string // the fields of the messages that hold it
	}{
		{
			name:  "reasoning_content",
			first: `"reasoning_content":"I must <look> & see"`, second: `"reasoning_content":"and again"`,
			echoed: `"reasoning_content":"I must <look> & see"`, echoed2: `"reasoning_content":"and again"`,
		},
		{
			name:  "reasoning",
			first: `"reasoning":"I must look"`, second: `"reasoning":"and again"`,
			echoed: `"reasoning":"I must look"`, echoed2: `"reasoning":"and again"`,
		},
		{
			name:    "reasoning with details, one of them encrypted",
			first:   `"reasoning":"I must","reasoning_details":[{"type":"reasoning.text","text":"I must","index":0,"format":"f"},{"type":"reasoning.encrypted","data":"c2VjcmV0+/==","id":"rs_1","index":1}]`,
			second:  `"reasoning_details":[{"type":"reasoning.encrypted","data":"bW9yZQ==","id":"rs_2","index":0}]`,
			echoed:  `"reasoning":"I must","reasoning_details":[{"type":"reasoning.text","text":"I must","index":0,"format":"f"},{"type":"reasoning.encrypted","data":"c2VjcmV0+/==","id":"rs_1","index":1}]`,
			echoed2: `"reasoning_details":[{"type":"reasoning.encrypted","data":"bW9yZQ==","id":"rs_2","index":0}]`,
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := stage.New(t, stage.Reply{Pieces: []string{think("1", tt.first)}}, stage.Reply{Pieces: []string{think("2", tt.second)}}, stage.Reply{Pieces: []string{stage.Events(north, ended, done)}})
			m := at(t, p.URL)
			r := asked
			var said []model.Message
			for n, call := range []string{"call_1", "call_2"} {
				h := stage.Hear(t.Context(), t, m, r)
				if h.Err != nil {
					t.Fatal(h.Err)
				}
				if got := h.Answer.Parts[0]; got.Type != events.PartReasoning || got.Provider != "openai" || got.Model != "mine" {
					t.Fatalf("step %d: %+v", n+1, got)
				}
				said = append(said, model.Message{Role: model.RoleAssistant, Parts: h.Answer.Parts}, stage.Result(call, "look", "seen"))
				r.Messages = slices.Concat(asked.Messages, said)
			}
			if h := stage.Hear(t.Context(), t, m, r); h.Err != nil {
				t.Fatal(h.Err)
			}
			want := stage.Tree(t, `[
				{"role":"user","content":"hello"},
				{"role":"assistant",`+tt.echoed+`,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"look","arguments":"{\"n\":1}"}}]},
				{"role":"tool","tool_call_id":"call_1","content":"seen"},
				{"role":"assistant",`+tt.echoed2+`,"tool_calls":[{"id":"call_2","type":"function","function":{"name":"look","arguments":"{\"n\":2}"}}]},
				{"role":"tool","tool_call_id":"call_2","content":"seen"}]`)
			if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
				t.Errorf("third request (-want +got):\n%s", diff)
			}
		})
	}
}

func TestThoughtsGoBackToTheirOwnModelOnly(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(north, ended, done)}})
	r := asked
	r.Messages = []model.Message{
		asked.Messages[0],
		{Role: model.RoleAssistant, Parts: []events.Part{
			{Type: events.PartReasoning, Text: "another model's", Provider: "openai", Model: "another"},
			{Type: events.PartReasoning, Text: "another provider's", Provider: "another", Model: "mine"},
			events.Text("one "), events.Text("two"),
		}},
		asked.Messages[0],
	}
	if h := stage.Hear(t.Context(), t, at(t, p.URL), r); h.Err != nil {
		t.Fatal(h.Err)
	}
	want := stage.Tree(t, `[{"role":"user","content":"hello"},{"role":"assistant","content":"one two"},{"role":"user","content":"hello"}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestARequest(t *testing.T) {
	t.Parallel()
	picture := events.Part{Type: events.PartImage, MediaType: "image/png", Opaque: []byte("\x89PNG"), Name: "a.png"}
	encoded := "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Opaque)
	inURL := events.Part{Type: events.PartImage, URL: "data:image/png;base64," + base64.StdEncoding.EncodeToString(picture.Opaque)}
	r := model.Request{
		Model: "mine", System: "be brief", MaxOutputTokens: 99,
		Tools: []model.Tool{
			{Name: "look", Description: "looks", Schema: json.RawMessage(`{"type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":{"type":"string"}},"required":["z"],"$defs":{"n":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}`)},
			{Name: "wait"},
		},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []events.Part{events.Text("what is this?"), picture}},
			{Role: model.RoleAssistant, Parts: []events.Part{
				events.Text("let me see"),
				{Type: events.PartCall, Ordinal: 1, Name: "look", Arguments: `{"z":1}`, ProviderID: "c1"},
				{Type: events.PartCall, Ordinal: 2, Name: "look", Arguments: `{}`, ProviderID: "c2"},
			}},
			{Role: model.RoleTool, Results: []model.Result{
				{WireID: "c1", Name: "look", Parts: []events.Part{events.Text("a view"), inURL}},
				{WireID: "c2", Name: "look", Parts: []events.Part{events.Text("too dark")}, IsError: true},
			}},
		},
	}
	p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(north, ended, done)}})
	m := at(t, p.URL, func(c *openai.Config) { c.Effort = "low" })
	if h := stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	if got := p.Requests()[0].Path; got != "/v1/chat/completions" {
		t.Errorf("asked at %s", got)
	}
	want := stage.Tree(t, `[
		{"role":"system","content":"be brief"},
		{"role":"user","content":[{"type":"text","text":"what is this?"},{"type":"image_url","image_url":{"url":"`+encoded+`"}}]},
		{"role":"assistant","content":"let me see","tool_calls":[
			{"id":"c1","type":"function","function":{"name":"look","arguments":"{\"z\":1}"}},
			{"id":"c2","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"c1","content":"a view"},
		{"role":"tool","tool_call_id":"c2","content":"too dark"},
		{"role":"user","content":[{"type":"text","text":"(the result of look, call c1, shows:)"},{"type":"image_url","image_url":{"url":"`+encoded+`"}}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
	for field, want := range map[string]any{
		"model": "theirs", "stream": true, "max_tokens": 99.0, "reasoning_effort": "low",
		"stream_options": map[string]any{"include_usage": true},
	} {
		if diff := cmp.Diff(want, p.Sent(t, -1, field)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	body := p.Requests()[0].Body
	for _, as := range []string{`"properties":{"z":{"$ref":"#/$defs/n"},"a":{"type":"string"}}`, `"maximum":9007199254740993`, `"additionalProperties":false`, `"name":"wait"`} {
		if !strings.Contains(body, as) {
			t.Errorf("%s is not in %s", as, body)
		}
	}

	// The same request has the same bytes, and one that goes on begins with them.
	_ = stage.Hear(t.Context(), t, m, r)
	if p.Requests()[1].Body != body {
		t.Error("the same request has other bytes the second time")
	}
}

func TestAModelWithoutEyesIsToldOfImages(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(north, ended, done)}})
	r := asked
	r.Messages = []model.Message{{Role: model.RoleUser, Parts: []events.Part{{Type: events.PartImage, MediaType: "image/png", Opaque: []byte("x"), Name: "a.png"}}}}
	m := at(t, p.URL, func(c *openai.Config) { c.NoImages = true })
	if h := stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	if got := p.Requests()[0].Body; !strings.Contains(got, "(an image that cannot be shown here: a.png)") {
		t.Errorf("sent %s", got)
	}
}
