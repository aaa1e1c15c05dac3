package anthropic_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/anthropic"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

const key = "sk-ant-test-0123456789"

// asked is the request of tests that look at the answer only.
var asked = stage.Asked()

// format is what the tests of every adapter need to know of this one.
var format = stage.Format{
	Make: func(t testing.TB, s stage.Setup) model.Model {
		t.Helper()
		return at(t, s.URL, func(c *anthropic.Config) {
			c.Transport, c.Silence, c.ContentSilence = s.Transport, s.Silence, s.ContentSilence
		})
	},
	Begun:  stream(start) + text(0, "so"),
	Whole:  stream(start) + thinking(0, "hm", "c2ln") + text(1, "so") + ended("end_turn"),
	Failed: `{"type":"error","error":{"type":"rate_limit_error","message":"slow down"}}`,
}

func TestConformance(t *testing.T) {
	t.Parallel()
	stage.Conform(t, format)
}

func FuzzStream(f *testing.F) { stage.Fuzz(f, format) }

// at is a model at an address.
func at(t testing.TB, url string, change ...func(*anthropic.Config)) *anthropic.Model {
	t.Helper()
	cfg := anthropic.Config{BaseURL: url, Key: key, Model: "theirs"}
	for _, c := range change {
		c(&cfg)
	}
	m, err := anthropic.New(cfg)
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

// stream is a stream of events, each named as its type is.
func stream(list ...string) string {
	var b strings.Builder
	for _, data := range list {
		name, _, _ := strings.Cut(strings.TrimPrefix(data, `{"type":"`), `"`)
		b.WriteString("event: " + name + "\ndata: " + data + "\n\n")
	}
	return b.String()
}

// The events of a small answer.
const (
	start = `{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","content":[],"model":"theirs-0711","stop_reason":null,"usage":{"input_tokens":36,"cache_read_input_tokens":64,"cache_creation_input_tokens":8,"output_tokens":1}}}`
	ping  = `{"type":"ping"}`
	stop  = `{"type":"message_stop"}`
)

// The events of a block.
func opens(index int, block string) string {
	return fmt.Sprintf(`{"type":"content_block_start","index":%d,"content_block":{`, index) + block + `}}`
}

func grows(index int, kind, field, text string) string {
	return fmt.Sprintf(`{"type":"content_block_delta","index":%d,"delta":{"type":`, index) + `"` + kind + `","` + field + `":"` + text + `"}}`
}

func closes(index int) string { return fmt.Sprintf(`{"type":"content_block_stop","index":%d}`, index) }

func text(index int, pieces ...string) string {
	list := []string{opens(index, `"type":"text","text":""`)}
	for _, p := range pieces {
		list = append(list, grows(index, "text_delta", "text", p))
	}
	return stream(append(list, closes(index))...)
}

func thinking(index int, thought, signature string) string {
	return stream(
		opens(index, `"type":"thinking","thinking":"","signature":""`),
		grows(index, "thinking_delta", "thinking", thought),
		grows(index, "signature_delta", "signature", signature),
		closes(index),
	)
}

func call(index int, id, name string, pieces ...string) string {
	list := []string{opens(index, `"type":"tool_use","id":"`+id+`","name":"`+name+`","input":{}`)}
	for _, p := range pieces {
		list = append(list, grows(index, "input_json_delta", "partial_json", strings.ReplaceAll(p, `"`, `\"`)))
	}
	return stream(append(list, closes(index))...)
}

// ended is the end of an answer.
func ended(reason string) string {
	return stream(`{"type":"message_delta","delta":{"stop_reason":"`+reason+`","stop_sequence":null},"usage":{"output_tokens":7,"output_tokens_details":{"thinking_tokens":3}}}`, stop)
}

var counted = events.Usage{Input: 36, Output: 7, CacheRead: 64, CacheWrite: 8, Reasoning: 3}

func TestAnAnswer(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Header: map[string]string{"Request-Id": "req_7"}, Pieces: []string{
		stream(start, ping), thinking(0, "hm", "c2ln+/=="), text(1, "北 ", "🌍"), call(2, "toolu_1", "look", `{"n":`, `1}`), call(3, "toolu_2", "wait"), ended("tool_use"),
	}})
	h := stage.Hear(t.Context(), t, at(t, p.URL), asked)
	want := &model.Answer{
		Parts: []events.Part{
			{Type: events.PartReasoning, Text: "hm", Opaque: []byte(`{"signature":"c2ln+/=="}`), Provider: "anthropic", Model: "mine"},
			events.Text("北 🌍"),
			{Type: events.PartCall, Ordinal: 1, Name: "look", Arguments: `{"n":1}`, ProviderID: "toolu_1"},
			{Type: events.PartCall, Ordinal: 2, Name: "wait", Arguments: `{}`, ProviderID: "toolu_2"},
		},
		Stop: events.StopCalls, RawStop: "tool_use", Usage: counted,
		Provider: events.Provider{Name: "anthropic", RequestID: "req_7", ResponseID: "msg_1", Model: "theirs-0711"},
		RawUsage: []string{
			`{"input_tokens":36,"cache_read_input_tokens":64,"cache_creation_input_tokens":8,"output_tokens":1}`,
			`{"output_tokens":7,"output_tokens_details":{"thinking_tokens":3}}`,
		},
	}
	if diff := cmp.Diff(want, h.Answer); diff != "" {
		t.Errorf("answer (-want +got):\n%s %v", diff, h.Err)
	}
	shown := []model.Delta{
		{Kind: model.DeltaReasoning, Text: "hm"},
		{Kind: model.DeltaText, Part: 1, Text: "北 "},
		{Kind: model.DeltaText, Part: 1, Text: "🌍"},
		{Kind: model.DeltaCall, Part: 2, Text: `{"n":`},
		{Kind: model.DeltaCall, Part: 2, Text: `1}`},
	}
	if diff := cmp.Diff(shown, h.Deltas); diff != "" {
		t.Errorf("deltas (-want +got):\n%s", diff)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for raw, want := range map[string]events.Stop{
		"end_turn": events.StopEnd, "stop_sequence": events.StopEnd, "max_tokens": events.StopLength, "refusal": events.StopRefused,
		"pause_turn": events.StopPaused, "model_context_window_exceeded": events.StopLength, "something_new": events.StopEnd,
	} {
		h := answered(t, stream(start), text(0, "so"), ended(raw))
		if h.Answer == nil || h.Answer.Stop != want || h.Answer.RawStop != raw {
			t.Errorf("%s: got %+v, %v", raw, h.Answer, h.Err)
		}
	}
}

// Arguments are kept as the model wrote them, also if they are no JSON: to judge
// them is for others, and the stream was whole.
func TestArgumentsAreKeptAsTheyAre(t *testing.T) {
	t.Parallel()
	h := answered(t, stream(start), call(0, "toolu_1", "look", `{"n": 1, `, `]`), ended("tool_use"))
	if h.Answer == nil || h.Answer.Parts[0].Arguments != `{"n": 1, ]` {
		t.Errorf("got %+v, %v", h.Answer, h.Err)
	}
}

func TestAMessageThatBeginsAnewTakesNothingOver(t *testing.T) {
	t.Parallel()
	h := answered(t, stream(start), thinking(0, "first", "a"), stream(`{"type":"content_block_start","index":1,"content_block":{"type":"tool_use","id":"toolu_1","name":"look","input":{}}}`,
		`{"type":"content_block_delta","index":1,"delta":{"type":"input_json_delta","partial_json":"{\"half"}}`),
		stream(strings.Replace(start, "msg_1", "msg_2", 1)), text(0, "second"), ended("end_turn"))
	if h.Err != nil {
		t.Fatal(h.Err)
	}
	if diff := cmp.Diff([]events.Part{events.Text("second")}, h.Answer.Parts); diff != "" || h.Answer.Provider.ResponseID != "msg_2" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
}

// What was paid for is not thrown away because a connection does not end.
func TestAnAnswerWhoseStreamDoesNotEnd(t *testing.T) {
	t.Parallel()
	p := stage.New(t, stage.Reply{Pieces: []string{stream(start) + text(0, "so") + ended("end_turn")}, Hang: true})
	if h := stage.Hear(t.Context(), t, at(t, p.URL), asked); h.Err != nil {
		t.Error(h.Err)
	}
	<-p.Gone()
}

// The key is in no error, and what the environment holds for others is not sent.
func TestTheKeyIsToldToNobody(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "sk-of-somebody-else")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "token-of-somebody-else")
	t.Setenv("ANTHROPIC_BASE_URL", "http://127.0.0.1:1")
	p := stage.New(t, stage.Reply{Status: http.StatusUnauthorized, Pieces: []string{`{"type":"error","error":{"type":"authentication_error","message":"invalid x-api-key ` + key + `"}}`}})
	h := stage.Hear(t.Context(), t, at(t, p.URL), asked)
	if h.Err == nil || h.Err.Class != events.ClassAuth {
		t.Fatalf("got %v", h.Err)
	}
	for _, text := range []string{
		h.Err.Error(), h.Err.Err.Error(), fmt.Sprintf("%v %+v %#v", anthropic.Config{Key: key}, anthropic.Config{Key: key}, anthropic.Config{Key: key}),
	} {
		if strings.Contains(text, key) {
			t.Errorf("the key is in %q", text)
		}
	}
	sent := p.Requests()[0].Header
	if sent.Get("X-Api-Key") != key || sent.Get("Authorization") != "" {
		t.Errorf("sent %v", sent)
	}
	_ = stage.Hear(t.Context(), t, at(t, p.URL, func(c *anthropic.Config) { c.Bearer = true }), asked)
	if sent := p.Requests()[1].Header; sent.Get("X-Api-Key") != "" || sent.Get("Authorization") != "Bearer "+key {
		t.Errorf("sent %v", sent)
	}
	_ = stage.Hear(t.Context(), t, at(t, p.URL, func(c *anthropic.Config) { c.Key = "" }), asked)
	if sent := p.Requests()[2].Header; sent.Get("X-Api-Key") != "" || sent.Get("Authorization") != "" {
		t.Errorf("sent %v", sent)
	}
}

// A profile of the library's own, in the environment, is not looked at.
func TestTheEnvironmentNamesAProfile(t *testing.T) {
	t.Setenv("ANTHROPIC_API_KEY", "")
	t.Setenv("ANTHROPIC_AUTH_TOKEN", "")
	t.Setenv("ANTHROPIC_PROFILE", "nonexistent")
	if h := answered(t, stream(start)+text(0, "so")+ended("end_turn")); h.Err != nil {
		t.Errorf("%v: %v", h.Err, h.Err.Err)
	}
}

func TestConfigProblemsAreAllReported(t *testing.T) {
	t.Parallel()
	_, err := anthropic.New(anthropic.Config{BaseURL: "ftp://host", Key: "a\nb", MaxOutputTokens: -1, ThinkingTokens: 5, Effort: "heroic", Connect: -1})
	for _, want := range []string{"model", "base url", "key", "max output tokens", "thinking tokens", "effort", "connect"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("nothing about %s in %v", want, err)
		}
	}
}
