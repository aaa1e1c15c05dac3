package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What a provider streams: a call of current_time, and then a text.
const (
	anthropicCall = `event: message_start
data: {"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"claude-real-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":10,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_1","name":"current_time","input":{}}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{}"}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"tool_use","stop_sequence":null},"usage":{"output_tokens":7}}

event: message_stop
data: {"type":"message_stop"}

`
	anthropicText = `event: message_start
data: {"type":"message_start","message":{"id":"msg_2","type":"message","role":"assistant","model":"claude-real-1","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":20,"output_tokens":1}}}

event: content_block_start
data: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}

event: content_block_delta
data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"It is late."}}

event: content_block_stop
data: {"type":"content_block_stop","index":0}

event: message_delta
data: {"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":5}}

event: message_stop
data: {"type":"message_stop"}

`
	openAICall = `data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[{"index":0,"delta":{"role":"assistant","content":null,"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"current_time","arguments":"{}"}}]},"finish_reason":null}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"id":"c1","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[],"usage":{"prompt_tokens":10,"completion_tokens":7,"total_tokens":17}}

data: [DONE]

`
	openAIText = `data: {"id":"c2","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[{"index":0,"delta":{"role":"assistant","content":"It is late."},"finish_reason":null}]}

data: {"id":"c2","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}

data: {"id":"c2","object":"chat.completion.chunk","created":1,"model":"gpt-real-1","choices":[],"usage":{"prompt_tokens":20,"completion_tokens":5,"total_tokens":25}}

data: [DONE]

`
)

// provide speaks both formats: first it calls the tool, and when it has the
// result it says something. It wants the key.
func provide(t *testing.T, overloaded string) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			Model    string            `json:"model"`
			Messages []json.RawMessage `json:"messages"`
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Errorf("request: %v", err)
		}
		if r.Header.Get("X-Api-Key") != "of the test" && r.Header.Get("Authorization") != "Bearer of the test" {
			t.Errorf("no key in %v", r.Header)
		}
		if body.Model == overloaded {
			w.WriteHeader(529)
			fmt.Fprint(w, `{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}`)
			return
		}
		last := string(body.Messages[len(body.Messages)-1])
		answered := strings.Contains(last, "tool_result") || strings.Contains(last, `"role":"tool"`)
		answers := map[string][2]string{
			"/v1/messages":         {anthropicCall, anthropicText},
			"/v1/chat/completions": {openAICall, openAIText},
		}[r.URL.Path]
		w.Header().Set("Content-Type", "text/event-stream")
		if answered {
			fmt.Fprint(w, answers[1])
		} else {
			fmt.Fprint(w, answers[0])
		}
	}))
	t.Cleanup(s.Close)
	return s
}

// turnOn runs a turn and gives what it printed as JSON.
func turnOn(t *testing.T, args ...string) string {
	t.Helper()
	r := command(t, strings.NewReader(""), nil, append([]string{"run", "what time is it?", "--json"}, args...)...)
	if r.code != 0 {
		t.Fatalf("code %d: %v\n%s%s", r.code, r.failure, r.out, r.err)
	}
	says(t, "the turn", r.out, `"name":"current_time"`, `"status":"ok"`, "It is late.", "turn.completed.v1")
	return r.out
}

// A key and an address in the environment are all that is needed.
func TestTheEnvironmentIsEnough(t *testing.T) { // not parallel: it sets the environment
	for _, tt := range []struct{ name, key, base, path, model string }{
		{"Anthropic", "ANTHROPIC_API_KEY", "ANTHROPIC_BASE_URL", "", "claude-real-1"},
		{"OpenAI", "OPENAI_API_KEY", "OPENAI_BASE_URL", "/v1", "gpt-real-1"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("ANTHROPIC_API_KEY", "")
			t.Setenv("OPENAI_API_KEY", "")
			t.Setenv(tt.key, "of the test")
			t.Setenv(tt.base, provide(t, "").URL+tt.path)
			says(t, "the turn", turnOn(t), `"model":"`+tt.model+`"`)
		})
	}
}

// A model that is overloaded is stood in for by one of another provider, and the
// log says who answered and what it cost.
//
// Rule: S2.3.
func TestAFallbackStandsInTheLog(t *testing.T) { // not parallel: it sets the environment
	t.Setenv("KEY_OF_THE_TEST", "of the test")
	url := provide(t, "busy").URL
	file := filepath.Join(t.TempDir(), "models.yaml")
	if err := os.WriteFile(file, []byte(`
models:
  - {name: first, provider: anthropic, model: busy, base_url: "`+url+`", api_key_env: KEY_OF_THE_TEST,
     price: {input: 5000000, output: 25000000}, fallbacks: [{model: second, on: [overloaded]}]}
  - {name: second, provider: openai-compatible, model: idle, base_url: "`+url+`/v1", api_key_env: KEY_OF_THE_TEST,
     price: {input: 1000000, output: 2000000}}
`), 0o600); err != nil {
		t.Fatal(err)
	}
	out := turnOn(t, "--models", file)
	says(t, "the turn", out, `"model":"first"`, `"model":"gpt-real-1"`, `"cost_micros":24`, `"cost_micros":30`)
}
