package openai_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/everturn/everturn/model/internal/wiretap"
	"github.com/everturn/everturn/model/openai"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const key = "sk-test-0123456789abcdef"

// asked is the request of tests that look at the answer only.
var asked = model.Request{Model: "mine", Messages: []model.Message{{Role: model.RoleUser, Parts: []events.Part{events.Text("hello")}}}}

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
	first  = `{"id":"r1","model":"theirs-0711","choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`
	north  = `{"id":"r1","choices":[{"index":0,"delta":{"content":"北 "},"finish_reason":null}]}`
	globe  = `{"id":"r1","choices":[{"index":0,"delta":{"content":"🌍\u00e9"},"finish_reason":null}]}`
	ended  = `{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`
	count  = `{"id":"r1","choices":[],"usage":{"prompt_tokens":100,"completion_tokens":7,"total_tokens":107,"prompt_tokens_details":{"cached_tokens":64},"completion_tokens_details":{"reasoning_tokens":3}}}`
	done   = "[DONE]"
	called = `{"id":"r1","choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`
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

func TestRetryAfterIsHandedOn(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Status: http.StatusTooManyRequests, Header: map[string]string{"Retry-After": "7"}, Pieces: []string{`{"error":{"message":"slow down"}}`}})
	h := stage.Hear(t.Context(), t, at(t, p.URL), asked)
	if h.Err == nil || h.Err.Class != events.ClassRateLimit || h.Err.RetryAfter != 7*time.Second || h.Err.Status != http.StatusTooManyRequests {
		t.Errorf("got %+v", h.Err)
	}
	if n := len(p.Requests()); n != 1 {
		t.Errorf("%d requests", n)
	}
}

func TestCancelAndBreakCloseTheConnection(t *testing.T) {
	t.Parallel()
	t.Run("cancel", func(t *testing.T) {
		t.Parallel()
		p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(first, north)}, Hang: true})
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		var last error
		for d, err := range at(t, p.URL).Stream(ctx, asked) {
			if d.Text != "" {
				cancel()
			}
			last = err
		}
		known, ok := errors.AsType[*model.Error](last)
		if !ok || known.Class != events.ClassCancelled {
			t.Errorf("got %v", last)
		}
		<-p.Gone()
	})
	t.Run("break", func(t *testing.T) {
		t.Parallel()
		p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(first, north)}, Hang: true})
		for _, err := range at(t, p.URL).Stream(t.Context(), asked) {
			if err != nil {
				t.Error(err)
			}
			break
		}
		<-p.Gone()
	})
	t.Run("cancel before the response", func(t *testing.T) {
		t.Parallel()
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		h := stage.Hear(ctx, t, at(t, stage.New(t, stage.Reply{}).URL), asked)
		if h.Err == nil || h.Err.Class != events.ClassCancelled {
			t.Errorf("got %v", h.Err)
		}
	})
}

func TestSilenceEndsTheAttempt(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(first, north)}, Hang: true})
	h := stage.Hear(t.Context(), t, at(t, p.URL, func(c *openai.Config) { c.Silence = 50 * time.Millisecond }), asked)
	if h.Err == nil || h.Err.Class != events.ClassStreamSilence {
		t.Errorf("got %+v, %v", h.Answer, h.Err)
	}
	if _, ok := errors.AsType[*wiretap.SilenceError](h.Err); ok {
		t.Error("the cause of the error is kept as text only")
	}
	<-p.Gone()
}

func TestNobodyThere(t *testing.T) {
	t.Parallel()
	h := stage.Hear(t.Context(), t, at(t, "http://127.0.0.1:1"), asked)
	if h.Err == nil || h.Err.Class != events.ClassTransport {
		t.Errorf("got %v", h.Err)
	}
}

func TestNobodyThereInTime(t *testing.T) {
	t.Parallel()
	late := &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
	m := at(t, "http://memory.invalid", func(c *openai.Config) {
		c.Transport = carrier(func(*http.Request) (*http.Response, error) { return nil, late })
	})
	if h := stage.Hear(t.Context(), t, m, asked); h.Err == nil || h.Err.Class != events.ClassStreamSilence {
		t.Errorf("got %v", h.Err)
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

func TestTheConnectionIsUsedAgain(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stage.Events(first, north, ended, done)}})
	m := at(t, p.URL)
	for range 3 {
		if h := stage.Hear(t.Context(), t, m, asked); h.Err != nil {
			t.Fatal(h.Err)
		}
	}
	if list := p.Requests(); list[0].From != list[2].From {
		t.Errorf("asked from %s and from %s", list[0].From, list[2].From)
	}
}

// Whatever is sent, there is one end, and nobody panics.
func FuzzStream(f *testing.F) {
	f.Add(stage.Events(first, north, ended, done))
	f.Fuzz(func(t *testing.T, body string) {
		header := http.Header{"Content-Type": {"text/event-stream"}}
		m := at(t, "http://memory.invalid", func(c *openai.Config) {
			c.Transport = carrier(func(r *http.Request) (*http.Response, error) {
				return &http.Response{StatusCode: http.StatusOK, Header: header, Body: io.NopCloser(strings.NewReader(body)), Request: r}, nil
			})
		})
		_ = stage.Hear(t.Context(), t, m, asked)
	})
}

// carrier answers without a network.
type carrier func(*http.Request) (*http.Response, error)

func (c carrier) RoundTrip(r *http.Request) (*http.Response, error) { return c(r) }

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
