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

// Parallel calls that the index does not tell apart.
func TestB05(t *testing.T) {
	t.Parallel()
	call := func(ordinal int, id, name, arguments string) events.Part {
		return events.Part{Type: events.PartCall, Ordinal: ordinal, Name: name, Arguments: arguments, ProviderID: id}
	}
	for _, tt := range []struct {
		name      string
		fragments []string
		want      []events.Part // nil: malformed
	}{
		{
			name: "one index, and a piece that may belong to either",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`,
			},
		},
		{
			name: "no index, and a piece that may belong to either",
			fragments: []string{
				`{"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"function":{"arguments":"1}"}}`,
			},
		},
		{
			name: "indices in another order",
			fragments: []string{
				`{"index":2,"id":"c","function":{"name":"h","arguments":"{\"z\":3}"}}`,
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`), call(3, "c", "h", `{"z":3}`)},
		},
		{
			name: "one index, but the ids tell them apart",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":0,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"id":"a","function":{"arguments":"1}"}}`,
				`{"index":0,"id":"b","function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "no index, but only one can still be added to",
			fragments: []string{
				`{"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "interleaved by index, as the format has it",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":"}}`,
				`{"index":1,"id":"b","function":{"name":"g","arguments":"{\"y\":"}}`,
				`{"index":0,"function":{"arguments":"1}"}}`,
				`{"index":1,"function":{"arguments":"2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "b", "g", `{"y":2}`)},
		},
		{
			name: "one id for all",
			fragments: []string{
				`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":1,"id":"a","function":{"name":"f","arguments":"{\"x\":2}"}}`,
			},
			want: []events.Part{call(1, "a", "f", `{"x":1}`), call(2, "a", "f", `{"x":2}`)},
		},
		{
			name: "no ids and one index",
			fragments: []string{
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":1}"}}`,
				`{"index":0,"function":{"name":"f","arguments":"{\"x\":2}"}}`,
			},
			want: []events.Part{call(1, "", "f", `{"x":1}`), call(2, "", "f", `{"x":2}`)},
		},
		{
			name:      "a call without a name",
			fragments: []string{`{"index":0,"id":"a","function":{"arguments":"{}"}}`},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			var list []string
			for _, f := range tt.fragments {
				list = append(list, fragments(f))
			}
			h := answered(t, stage.Events(append(list, called, count, done)...))
			if tt.want == nil {
				if h.Err == nil || h.Err.Class != events.ClassIncomplete || !h.Err.Class.Retryable() {
					t.Fatalf("got %+v, %v", h.Answer, h.Err)
				}
				return
			}
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff(tt.want, h.Answer.Parts); diff != "" {
				t.Errorf("parts (-want +got):\n%s", diff)
			}
		})
	}
}

// A chunk without choices, anywhere.
func TestB08(t *testing.T) {
	t.Parallel()
	const only = `{"id":"r1","choices":[]}`
	for name, list := range map[string][]string{
		"first":       {count, first, north, globe, ended, done},
		"in between":  {first, north, count, globe, ended, done},
		"last":        {first, north, globe, ended, count, done},
		"everywhere":  {only, count, only, first, north, count, only, globe, ended, count, only, done},
		"null":        {first, north, globe, ended, strings.Replace(count, `"choices":[]`, `"choices":null`, 1), done},
		"then zeroes": {first, north, globe, ended, count, `{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, done},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h := answered(t, stage.Events(list...))
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff([]events.Part{events.Text("北 🌍é")}, h.Answer.Parts); diff != "" || h.Answer.Usage != counted {
				t.Errorf("usage %+v, parts (-want +got):\n%s", h.Answer.Usage, diff)
			}
		})
	}
}

// One answer, cut in two at each byte.
func TestB09(t *testing.T) {
	t.Parallel()
	call := []string{
		fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"city\":\"北🌍\\u00e9"}}`),
		fragments(`{"index":0,"function":{"arguments":"\"}"}}`),
	}
	stream := stage.Events(first, north, globe, call[0], call[1], called, count, done)
	stream = strings.ReplaceAll(stream, "\n", "\r\n")
	want := answered(t, stream)
	if want.Err != nil || len(want.Answer.Parts) != 2 || want.Answer.Parts[1].Arguments != `{"city":"北🌍\u00e9"}` {
		t.Fatalf("in one piece: %+v, %v", want.Answer, want.Err)
	}
	var replies []stage.Reply
	for cut := 1; cut < len(stream); cut++ {
		replies = append(replies, stage.Reply{Pieces: []string{stream[:cut], stream[cut:]}})
	}
	m := at(t, stage.New(t, replies...).URL)
	for cut := 1; cut < len(stream); cut++ {
		got := stage.Hear(t.Context(), t, m, asked)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Fatalf("cut after %d bytes (-want +got):\n%s", cut, diff)
		}
	}
}

// One very long line.
func TestB10(t *testing.T) {
	t.Parallel()
	for _, size := range []int{70 << 10, 1100 << 10} {
		text := strings.Repeat("x", size)
		h := answered(t, stage.Events(first, fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":\"`+text+`\"}"}}`), called, done))
		if h.Err != nil || len(h.Answer.Parts) != 1 || h.Answer.Parts[0].Arguments != `{"x":"`+text+`"}` {
			t.Errorf("%d bytes: %v", size, h.Err)
		}
	}
	h := answered(t, stage.Events(first, fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"`+strings.Repeat("x", 17<<20)+`"}}`), called, done))
	if h.Err == nil || h.Err.Class.Retryable() || !strings.Contains(h.Err.Message, "16777216") {
		t.Errorf("17 MiB: %+v, %v", h.Answer, h.Err)
	}
}

// The connection closes before the end.
func TestB13(t *testing.T) {
	t.Parallel()
	call := fragments(`{"index":0,"id":"a","function":{"name":"f","arguments":"{\"x\":1"}}`)
	for _, tt := range []struct {
		name     string
		reply    stage.Reply
		complete bool
	}{
		{"no reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north, globe)}}, false},
		{"half of a call", stage.Reply{Pieces: []string{stage.Events(first, north, call)}}, false},
		{"half of the reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north), "data: " + ended[:len(ended)-20]}}, false},
		{"half of the end", stage.Reply{Pieces: []string{stage.Events(first, north), "data: [DO"}}, false},
		{"a reset", stage.Reply{Pieces: []string{stage.Events(first, north)}, Abort: true}, false},
		{"nothing at all", stage.Reply{}, false},
		{"a reason to stop, and no end", stage.Reply{Pieces: []string{stage.Events(first, north, globe, ended)}}, true},
		{"a reason to stop, and a reset", stage.Reply{Pieces: []string{stage.Events(first, north, globe, ended)}, Abort: true}, true},
		{"an end, and no reason to stop", stage.Reply{Pieces: []string{stage.Events(first, north, globe, done)}}, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := stage.Hear(t.Context(), t, at(t, stage.New(t, tt.reply).URL), asked)
			switch {
			case tt.complete && h.Err != nil:
				t.Errorf("got %v (%v)", h.Err, h.Err.Err)
			case !tt.complete && (h.Err == nil || h.Err.Class != events.ClassIncomplete):
				t.Errorf("got %+v, %v", h.Answer, h.Err)
			}
		})
	}
}

// An error inside of a stream that began well.
func TestB14(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		reply stage.Reply
		want  events.ErrorClass
	}{
		{"overloaded, after text", stage.Reply{Pieces: []string{stage.Events(first, north, globe, `{"error":{"type":"overloaded_error","message":"busy"}}`)}}, events.ClassOverloaded},
		{"as the first event", stage.Reply{Pieces: []string{stage.Events(`{"error":{"type":"overloaded_error","message":"busy"}}`)}}, events.ClassOverloaded},
		{"invalid request", stage.Reply{Pieces: []string{stage.Events(first, `{"error":{"type":"invalid_request_error","message":"no"}}`)}}, events.ClassInvalidRequest},
		{"with a name", stage.Reply{Pieces: []string{stage.Events(first) + "event: error\ndata: {\"message\":\"no\",\"code\":429}\n\n"}}, events.ClassRateLimit},
		{"beside a reason to stop", stage.Reply{Pieces: []string{stage.Events(`{"choices":[{"index":0,"delta":{},"finish_reason":"error"}],"error":{"code":502,"message":"gone"}}`, done)}}, events.ClassTimeout},
		{"a status of 529 with a page", stage.Reply{Status: 529, Header: map[string]string{"Content-Type": "text/html"}, Pieces: []string{"<html>"}}, events.ClassOverloaded},
		{"a good status with an error and no stream", stage.Reply{Status: 200, Header: map[string]string{"Content-Type": "application/json"}, Pieces: []string{`{"error":{"code":503,"message":"busy"}}`}}, events.ClassTimeout},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := stage.Hear(t.Context(), t, at(t, stage.New(t, tt.reply).URL), asked)
			if h.Err == nil || h.Err.Class != tt.want {
				t.Errorf("got %+v, %v, want %s", h.Answer, h.Err, tt.want)
			}
		})
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
