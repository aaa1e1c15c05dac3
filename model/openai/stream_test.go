package openai_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/everturn/everturn/model/openai"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const key = "sk-test-0123456789abcdef"

// asked is the request of tests that look at the answer only.
var asked = stage.Asked()

// format is what the tests of every adapter need to know of this one.
var format = stage.Format{
	Make: func(t testing.TB, s stage.Setup) model.Model {
		t.Helper()
		return at(t, s.URL, func(c *openai.Config) {
			c.Transport, c.Silence, c.ContentSilence = s.Transport, s.Silence, s.ContentSilence
		})
	},
	Begun:  stage.Events(first, north),
	Whole:  stage.Events(thought, north, ended, count, done),
	Failed: `{"error":{"type":"rate_limit_error","code":"rate_limit_exceeded","message":"slow down"}}`,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	stage.Conform(t, format)
}

func FuzzStream(f *testing.F) { stage.Fuzz(f, format) }

// at is a model at an address.
func at(t testing.TB, url string, change ...func(*openai.Config)) *openai.Model {
	t.Helper()
	cfg := openai.Config{BaseURL: url + "/v1", Key: key, Model: "theirs"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := openai.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(m.Close)
	return m
}

// answered is what a model makes of a stream.
func answered(t testing.TB, pieces ...string) stage.Heard {
	t.Helper()
	return stage.Hear(t.Context(), t, at(t, stage.New(t, stage.Reply{Pieces: pieces}).URL), asked)
}

// The events of a small answer.
const (
	first   = `{"id":"r1","model":"theirs-0711","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	north   = `{"id":"r1","choices":[{"index":0,"delta":{"content":"北 "},"finish_reason":null}]}`
	globe   = `{"id":"r1","choices":[{"index":0,"delta":{"content":"🌍\u00e9"},"finish_reason":null}]}`
	ended   = `{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	count   = `{"id":"r1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":3}}}`
	done    = "[DONE]"
	thought = `{"id":"r1","choices":[{"index":0,"delta":{"reasoning_content":"I must look"},"finish_reason":null}]}`
	called  = `{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
)

var counted = events.Usage{Input: 36, Output: 7, CacheRead: 64, Reasoning: 3}

// fragments is an event with pieces of calls.
func fragments(list ...string) string {
	return `{"id":"r1","choices":[{"index":0,"delta":{"tool_calls":[` + strings.Join(list, ",") + `]},"finish_reason":null}]}`
}

func TestAnAnswer(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Header: map[string]string{"X-Request-Id": "req_7"}, Pieces: []string{stage.Events(first, north, globe, ended, count, done)}})
	h := stage.Hear(t.Context(), t, at(t, p.URL), asked)
	want := &model.Answer{
		Parts: []events.Part{events.Text("北 🌍é")}, Stop: events.StopEnd, RawStop: "stop", Usage: counted,
		Provider: events.Provider{Name: "openai", RequestID: "req_7", ResponseID: "r1", Model: "theirs-0711"},
		RawUsage: []string{`{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":3}}`},
	}
	if diff := cmp.Diff(want, h.Answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s", diff)
	}
	shown := []model.Delta{{Kind: model.DeltaText, Text: "北 "}, {Kind: model.DeltaText, Text: "🌍é"}}
	if diff := cmp.Diff(shown, h.Deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]events.Stop{
		"stop": events.StopEnd, "length": events.StopLength, "model_length": events.StopLength,
		"content_filter": events.StopRefused, "tool_calls": events.StopEnd, "something new": events.StopEnd,
	} {
		h := answered(t, stage.Events(first, north, strings.Replace(ended, "stop", raw, 1), done))
		if h.Answer == nil || h.Answer.Stop != want || h.Answer.RawStop != raw {
			t.Errorf("%s: got %+v, %v", raw, h.Answer, h.Err)
		}
	}
	call := fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}`)
	for raw, want := range map[string]events.Stop{"stop": events.StopCalls, "tool_calls": events.StopCalls, "length": events.StopLength} {
		if h := answered(t, stage.Events(call, strings.Replace(ended, "stop", raw, 1), done)); h.Answer == nil || h.Answer.Stop != want {
			t.Errorf("%s with a call: got %+v, %v", raw, h.Answer, h.Err)
		}
	}
	for raw, want := range map[string]events.ErrorClass{"error": events.ClassInternal, "insufficient_system_resource": events.ClassOverloaded} {
		if h := answered(t, stage.Events(first, strings.Replace(ended, "stop", raw, 1), done)); h.Err == nil || h.Err.Class != want {
			t.Errorf("%s: got %+v, %v", raw, h.Answer, h.Err)
		}
	}
}

// The key is in no error, not even where the provider quotes it; and what the
// environment holds for others is not sent.
func TestTheKeyIsToldToNobody(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "sk-of-somebody-else")
	t.Setenv("OPENAI_ORG_ID", "org-of-somebody-else")
	t.Setenv("OPENAI_BASE_URL", "http://127.0.0.1:1")
	p := stage.New(t, stage.Reply{Status: http.StatusUnauthorized, Pieces: []string{`{"error":{"message":"Incorrect API key provided: ` + key + `"}}`}})
	m := at(t, p.URL)
	h := stage.Hear(t.Context(), t, m, asked)
	if h.Err == nil || h.Err.Class != events.ClassAuth {
		t.Fatalf("got %v", h.Err)
	}
	for _, text := range []string{
		h.Err.Error(), h.Err.Err.Error(), fmt.Sprintf("%+v", h.Err.Err),
		fmt.Sprintf("%v %+v %#v", openai.Config{Key: key}, openai.Config{Key: key}, openai.Config{Key: key}),
	} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %q", text)
		}
	}
	sent := p.Requests()[0].Header
	if got := sent.Get("Authorization"); got != "Bearer "+key {
		t.Errorf("sent %q", got)
	}
	if sent.Get("Openai-Organization") != "" {
		t.Error("the organisation of somebody else was sent")
	}
	h = stage.Hear(t.Context(), t, at(t, p.URL, func(c *openai.Config) { c.Key = "" }), asked)
	if got := p.Requests()[1].Header.Get("Authorization"); got != "" || h.Err == nil {
		t.Errorf("sent %q without a key", got)
	}
}

func TestConfigProblemsAreAllReported(t *testing.T) {
	t.Parallel()
	_, err := openai.New(openai.Config{BaseURL: "https://user:pass@host/v1", Key: "a\nb", MaxOutputTokens: -1, Effort: "heroic", Silence: -1})
	for _, want := range []string{"model", "base url", "key", "max output tokens", "effort", "silence"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
	if strings.Contains(fmt.Sprint(err), "pass") {
		t.Errorf("a secret in %v", err)
	}
}
