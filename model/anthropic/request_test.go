package anthropic_test

import (
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/anthropic"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// What a model thought goes back with the call that belongs to it, byte for byte
// and in order, in the second request and in the third.
func TestB19(t *testing.T) {
	t.Parallel()
	redacted := stream(`{"type":"content_block_start","index":1,"content_block":{"type":"redacted_thinking","data":"RW5jcnlwdGVk+/=="}}`, `{"type":"content_block_stop","index":1}`)
	p := stage.New(t,
		stage.Reply{Pieces: []string{stream(start), thinking(0, "I must <look> & see", "c2lnMQ+/=="), redacted, text(2, "let me look"), call(3, "toolu_1", "look", `{"n":1}`), ended("tool_use")}},
		stage.Reply{Pieces: []string{stream(start), thinking(0, "", "c2lnMg=="), call(1, "toolu_2", "look", `{"n":2}`), call(2, "toolu_3", "look", `{"n":3}`), ended("tool_use")}},
		stage.Reply{Pieces: []string{stream(start), text(0, "done"), ended("end_turn")}})
	m := at(t, p.URL, func(c *anthropic.Config) { c.ThinkingTokens = 2048 })
	r := asked
	r.Messages = asked.Messages[:1:1]

	h := stage.Hear(t.Context(), t, m, r)
	if h.Err != nil {
		t.Fatal(h.Err)
	}
	r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Parts: h.Answer.Parts}, stage.Result("toolu_1", "look", "seen"))
	if h = stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	const assistant1 = `{"role":"assistant","content":[
		{"type":"thinking","thinking":"I must <look> & see","signature":"c2lnMQ+/=="},
		{"type":"redacted_thinking","data":"RW5jcnlwdGVk+/=="},
		{"type":"text","text":"let me look"},
		{"type":"tool_use","id":"toolu_1","name":"look","input":{"n":1}}]}`
	want := stage.Tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]},`+assistant1+`,
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"seen"}],"cache_control":{"type":"ephemeral"}}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("second request (-want +got):\n%s", diff)
	}

	both := stage.Result("toolu_2", "look", "more")
	both.Results = append(both.Results, model.Result{WireID: "toolu_3", Name: "look", Parts: []events.Part{events.Text("too dark")}, IsError: true})
	r.Messages = append(r.Messages, model.Message{Role: model.RoleAssistant, Parts: h.Answer.Parts}, both)
	if h = stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	want = stage.Tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello"}]},`+assistant1+`,
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"seen"}],"cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"","signature":"c2lnMg=="},
			{"type":"tool_use","id":"toolu_2","name":"look","input":{"n":2}},
			{"type":"tool_use","id":"toolu_3","name":"look","input":{"n":3}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"toolu_2","content":[{"type":"text","text":"more"}]},
			{"type":"tool_result","tool_use_id":"toolu_3","content":[{"type":"text","text":"too dark"}],"is_error":true,"cache_control":{"type":"ephemeral"}}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("third request (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(stage.Tree(t, `{"type":"enabled","budget_tokens":2048}`), p.Sent(t, -1, "thinking")); diff != "" {
		t.Errorf("thinking (-want +got):\n%s", diff)
	}
	if got := p.Sent(t, -1, "max_tokens"); got != float64(anthropic.DefaultMaxOutputTokens+2048) {
		t.Errorf("max_tokens %v", got)
	}
}

func TestThoughtsGoBackToTheirOwnModelOnly(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stream(start), text(0, "so"), ended("end_turn")}})
	r := asked
	signed := []byte(`{"signature":"s"}`)
	r.Messages = []model.Message{
		asked.Messages[0],
		{Role: model.RoleAssistant, Parts: []events.Part{
			{Type: events.PartReasoning, Text: "another model's", Opaque: signed, Provider: "anthropic", Model: "another"},
			{Type: events.PartReasoning, Text: "another provider's", Opaque: signed, Provider: "another", Model: "mine"},
			{Type: events.PartReasoning, Text: "without a signature", Provider: "anthropic", Model: "mine"},
			{Type: events.PartReasoning, Text: "its own", Opaque: signed, Provider: "anthropic", Model: "mine"},
			events.Text("said"),
		}},
		asked.Messages[0],
	}
	if h := stage.Hear(t.Context(), t, at(t, p.URL), r); h.Err != nil {
		t.Fatal(h.Err)
	}
	want := stage.Tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[{"type":"thinking","thinking":"its own","signature":"s"},{"type":"text","text":"said"}]},
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// What stands at the end for one step only is not kept by the provider: the marks are
// where the next request is the same.
func TestS9_TheInstructionIsBehindTheMarks(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stream(start), text(0, "so"), ended("end_turn")}})
	r := asked
	instruction := asked.Messages[0]
	instruction.Parts, instruction.Instruction = []events.Part{events.Text("only plan")}, true
	r.Messages = []model.Message{
		asked.Messages[0], {Role: model.RoleAssistant, Parts: []events.Part{events.Text("said")}}, asked.Messages[0], instruction,
	}
	if h := stage.Hear(t.Context(), t, at(t, p.URL), r); h.Err != nil {
		t.Fatal(h.Err)
	}
	want := stage.Tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[{"type":"text","text":"said"}]},
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}},{"type":"text","text":"only plan"}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

// A search that the provider ran is given back as it was.
func TestAPausedSearchGoesOn(t *testing.T) {
	t.Parallel()
	search := stream(
		`{"type":"content_block_start","index":0,"content_block":{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{}}}`,
		`{"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\"query\":\"x\"}"}}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"content_block_start","index":1,"content_block":{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"T","url":"https://example.invalid","encrypted_content":"ZW5j+/==","page_age":"1 day"}]}}`,
		`{"type":"content_block_stop","index":1}`)
	p := stage.New(t, stage.Reply{Pieces: []string{stream(start), search, text(2, "so far"), ended("pause_turn")}}, stage.Reply{Pieces: []string{stream(start), text(0, "so"), ended("end_turn")}})
	m := at(t, p.URL)
	h := stage.Hear(t.Context(), t, m, asked)
	if h.Err != nil || h.Answer.Stop != events.StopPaused {
		t.Fatalf("got %+v, %v", h.Answer, h.Err)
	}
	r := asked
	r.Messages = []model.Message{asked.Messages[0], {Role: model.RoleAssistant, Parts: h.Answer.Parts}}
	if h := stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	want := stage.Tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello","cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[
			{"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"x"}},
			{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[{"type":"web_search_result","title":"T","url":"https://example.invalid","encrypted_content":"ZW5j+/==","page_age":"1 day"}]},
			{"type":"text","text":"so far"}]}]`)
	if diff := cmp.Diff(want, p.Sent(t, -1, "messages")); diff != "" {
		t.Errorf("messages (-want +got):\n%s", diff)
	}
}

func TestARequest(t *testing.T) {
	t.Parallel()
	picture := events.Part{Type: events.PartImage, MediaType: "image/png", Opaque: []byte("\x89PNG"), Name: "a.png"}
	image := `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"` + base64.StdEncoding.EncodeToString(picture.Opaque) + `"}`
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
				{Type: events.PartCall, Ordinal: 1, Name: "look", Arguments: `{"z":1}`, ProviderID: "c1"},
				{Type: events.PartCall, Ordinal: 2, Name: "look", Arguments: `{}`, ProviderID: "c2"},
			}},
			{Role: model.RoleTool, Results: []model.Result{
				{WireID: "c1", Name: "look", Parts: []events.Part{events.Text("a view"), picture, inURL}},
				{WireID: "c2", Name: "look", Parts: []events.Part{events.Text("too dark")}, IsError: true},
			}},
		},
	}
	p := stage.New(t, stage.Reply{Pieces: []string{stream(start), text(0, "so"), ended("end_turn")}})
	m := at(t, p.URL+"/v1/", func(c *anthropic.Config) { c.Effort = "low" })
	if h := stage.Hear(t.Context(), t, m, r); h.Err != nil {
		t.Fatal(h.Err)
	}
	if got := p.Requests()[0].Path; got != "/v1/messages" {
		t.Errorf("asked at %s", got)
	}
	for field, want := range map[string]string{
		"model": `"theirs"`, "stream": `true`, "max_tokens": `99`, "output_config": `{"effort":"low"}`, "thinking": `{"type":"adaptive"}`,
		"system": `[{"type":"text","text":"be brief","cache_control":{"type":"ephemeral"}}]`,
		"messages": `[
			{"role":"user","content":[{"type":"text","text":"what is this?"},` + image + `,"cache_control":{"type":"ephemeral"}}]},
			{"role":"assistant","content":[{"type":"tool_use","id":"c1","name":"look","input":{"z":1}},{"type":"tool_use","id":"c2","name":"look","input":{}}]},
			{"role":"user","content":[
				{"type":"tool_result","tool_use_id":"c1","content":[` + image + `},{"type":"text","text":"a view"}]},
				{"type":"tool_result","tool_use_id":"c2","content":[{"type":"text","text":"too dark"}],"is_error":true},
				{"type":"text","text":"(the result of look, call c1, shows:)"},` + image + `,"cache_control":{"type":"ephemeral"}}]}]`,
		"tools": `[
			{"name":"look","description":"looks","input_schema":{"type":"object","properties":{"z":{"$ref":"#/$defs/n"},"a":{"type":"string"}},"required":["z"],"$defs":{"n":{"type":"integer","maximum":9007199254740993}},"additionalProperties":false}},
			{"name":"wait","input_schema":{"type":"object","properties":{}},"cache_control":{"type":"ephemeral"}}]`,
	} {
		if diff := cmp.Diff(stage.Tree(t, want), p.Sent(t, -1, field)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", field, diff)
		}
	}
	body := p.Requests()[0].Body
	for _, as := range []string{`"properties":{"z":{"$ref":"#/$defs/n"},"a":{"type":"string"}}`, `"maximum":9007199254740993`} {
		if !strings.Contains(body, as) {
			t.Errorf("%s is not in %s", as, body)
		}
	}
	_ = stage.Hear(t.Context(), t, m, r)
	if p.Requests()[1].Body != body {
		t.Error("the same request has other bytes the second time")
	}
}
