package script_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/google/go-cmp/cmp"
)

// said is everything a model yielded.
type said struct {
	deltas []model.Delta
	answer *model.Answer
	err    error
}

func ask(ctx context.Context, t *testing.T, m model.Model, r model.Request) said {
	t.Helper()
	var s said
	for d, err := range m.Stream(ctx, r) {
		switch {
		case s.answer != nil || s.err != nil:
			t.Fatal("something follows the end")
		case err != nil:
			s.err = err
		case d.Answer != nil:
			s.answer = d.Answer
		default:
			s.deltas = append(s.deltas, d)
		}
	}
	if s.answer == nil && s.err == nil {
		t.Fatal("neither an answer nor an error ends the stream")
	}
	return s
}

func parse(t *testing.T, src string) *script.Model {
	t.Helper()
	m, err := script.Parse("test.yaml", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func user(text string) model.Message {
	return model.Message{Role: model.RoleUser, Parts: []events.Part{events.Text(text)}}
}

func assistant(text string) model.Message {
	return model.Message{Role: model.RoleAssistant, Parts: []events.Part{events.Text(text)}}
}

func results(texts ...string) model.Message {
	m := model.Message{Role: model.RoleTool}
	for _, text := range texts {
		m.Results = append(m.Results, model.Result{Parts: []events.Part{events.Text(text)}})
	}
	return m
}

func request(messages ...model.Message) model.Request {
	return model.Request{Model: "any", Messages: messages}
}

func (s said) text(t *testing.T) string {
	t.Helper()
	if s.err != nil {
		t.Fatal(s.err)
	}
	var b strings.Builder
	for _, p := range s.answer.Parts {
		b.WriteString(p.Text)
	}
	return b.String()
}

func TestFirstRuleThatHoldsAnswers(t *testing.T) {
	t.Parallel()
	m := parse(t, `
rules:
  - {when: {input: Weather, step: 1}, answer: [{text: first step of weather}]}
  - {when: {input: weather, result: SUN}, answer: [{text: "sun, says {{result}}"}]}
  - {when: {model: big}, answer: [{text: big}]}
  - {when: {offers: clock}, answer: [{text: there is a clock}]}
  - {when: {step: 3}, answer: [{text: "step {{step}} of {{ input }} with {{model}}"}]}
  - {answer: [{text: else}]}
`)
	other := request(user("hello"))
	other.Model = "big"
	clock := request(user("hello"))
	clock.Tools = []model.Tool{{Name: "hammer"}, {Name: "clock"}}
	for _, tt := range []struct {
		name    string
		request model.Request
		want    string
	}{
		{"by input, in any case", request(user("the WEATHER?")), "first step of weather"},
		{"by result", request(user("weather"), assistant(""), results("rain", "then sun")), "sun, says rain\nthen sun"},
		{"by model", other, "big"},
		{"by a tool on offer", clock, "there is a clock"},
		{"by step", request(user("a"), assistant(""), results("x"), assistant("")), "step 3 of a with any"},
		{"steps count from the last input", request(user("a"), assistant(""), assistant(""), user("b")), "else"},
		{"the last input counts", request(user("weather"), assistant(""), user("thanks")), "else"},
		{"no message at all", request(), "else"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if got := ask(t.Context(), t, m, tt.request).text(t); got != tt.want {
				t.Errorf("got %q, want %q", got, tt.want)
			}
		})
	}
}

func TestAnswer(t *testing.T) {
	t.Parallel()
	m := parse(t, `
rules:
  - usage: {input: 10, output: 20, cache_read: 1, cache_write: 2, reasoning: 3}
    answer:
      - reasoning: Let me think.
      - text: "One two "
      - pause: 0s
      - text: three
      - call: {name: look, arguments: '{"at":"{{input}}"}'}
      - call: {name: broken, arguments: '{"at":', id: same}
      - call: {name: nameless, arguments: "", id: ""}
      - call: {name: many, id: same, count: 2}
`)
	s := ask(t.Context(), t, m, request(user("a \"b\"\n")))
	want := []events.Part{
		{Type: events.PartReasoning, Text: "Let me think.", Provider: "script", Model: "any"},
		{Type: events.PartText, Text: "One two three"},
		{Type: events.PartCall, Ordinal: 1, Name: "look", Arguments: `{"at":"a \"b\"\n"}`, ProviderID: "call-1-1"},
		{Type: events.PartCall, Ordinal: 2, Name: "broken", Arguments: `{"at":`, ProviderID: "same"},
		{Type: events.PartCall, Ordinal: 3, Name: "nameless"},
		{Type: events.PartCall, Ordinal: 4, Name: "many", Arguments: "{}", ProviderID: "same"},
		{Type: events.PartCall, Ordinal: 5, Name: "many", Arguments: "{}", ProviderID: "same"},
	}
	if s.err != nil {
		t.Fatal(s.err)
	}
	if diff := cmp.Diff(want, s.answer.Parts); diff != "" {
		t.Errorf("parts (-want +got):\n%s", diff)
	}
	if s.answer.Stop != events.StopCalls {
		t.Errorf("stop: %s", s.answer.Stop)
	}
	if want := (events.Usage{Input: 10, Output: 20, CacheRead: 1, CacheWrite: 2, Reasoning: 3}); s.answer.Usage != want {
		t.Errorf("usage: %+v", s.answer.Usage)
	}
	if s.answer.CostMicros != nil {
		t.Error("a script has no price")
	}
	joined := make([]string, len(want))
	for _, d := range s.deltas {
		joined[d.Part] += d.Text
	}
	for i, p := range s.answer.Parts {
		if joined[i] != p.Text+p.Arguments {
			t.Errorf("deltas of part %d: %q, want %q", i, joined[i], p.Text+p.Arguments)
		}
	}
}

func TestAnswerIsAFunctionOfTheRequest(t *testing.T) {
	t.Parallel()
	src := `{"rules": [{"answer": [{"text": "{{input}} again"}, {"call": {"name": "x", "count": 3}}]}]}`
	a := ask(t.Context(), t, parse(t, src), request(user("hello")))
	b := ask(t.Context(), t, parse(t, src), request(user("hello")))
	if diff := cmp.Diff(a.answer, b.answer); diff != "" {
		t.Errorf("two processes answer differently:\n%s", diff)
	}
	if a.answer.Usage.Input == 0 || a.answer.Usage.Output == 0 {
		t.Errorf("usage: %+v", a.answer.Usage)
	}
}

func TestStops(t *testing.T) {
	t.Parallel()
	for src, want := range map[string]events.Stop{
		`[]`:                                  events.StopEnd,
		`[{text: a}]`:                         events.StopEnd,
		`[{call: {name: x}}]`:                 events.StopCalls,
		`[{call: {name: x}}, {stop: length}]`: events.StopLength,
		`[{stop: paused}, {text: a}]`:         events.StopPaused,
		`[{text: a}, {stop: refused}]`:        events.StopRefused,
		`[{text: a}, {call: {name: x}}, {stop: "end"}]`: events.StopEnd,
	} {
		s := ask(t.Context(), t, parse(t, "rules: [{answer: "+src+"}]"), request(user("x")))
		if s.err != nil || s.answer.Stop != want || s.answer.RawStop != string(want) {
			t.Errorf("%s: %+v, %v", src, s.answer, s.err)
		}
	}
}

func TestBytesThatAreNoText(t *testing.T) {
	t.Parallel()
	s := ask(t.Context(), t, parse(t, `
rules:
  - answer:
      - text_hex: "e24dff001b5b324a"
      - reasoning_hex: "00"
      - call: {name: x, arguments_hex: "7b22ff"}
      - text: "a\0b"
`), request(user("x")))
	if s.err != nil {
		t.Fatal(s.err)
	}
	got := []string{s.answer.Parts[0].Text, s.answer.Parts[1].Text, s.answer.Parts[2].Arguments, s.answer.Parts[3].Text}
	if want := []string{"\xe2M\xff\x00\x1b[2J", "\x00", "{\"\xff", "a\x00b"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestManyCalls(t *testing.T) {
	t.Parallel()
	s := ask(t.Context(), t, parse(t, `rules: [{answer: [{call: {name: x, count: 500}}]}]`), request(user("x")))
	if s.err != nil || len(s.answer.Parts) != 500 || s.answer.Parts[499].Ordinal != 500 {
		t.Errorf("%d parts, %v", len(s.answer.Parts), s.err)
	}
}

func TestFailures(t *testing.T) {
	t.Parallel()
	m := parse(t, `
rules:
  - when: {input: limit}
    answer:
      - text: "some "
      - fail: {class: rate_limit, message: slow down, retry_after: 2s, status: 429}
  - when: {input: cut}
    answer: [{text: half an}, {cut: true}]
  - when: {input: twice}
    answer:
      - fail: {class: overloaded, times: 2}
      - text: at last
`)
	s := ask(t.Context(), t, m, request(user("limit")))
	want := &model.Error{Class: events.ClassRateLimit, Message: "slow down", RetryAfter: 2 * time.Second, Status: 429}
	if got, ok := errors.AsType[*model.Error](s.err); !ok || cmp.Diff(want, got) != "" || len(s.deltas) != 1 {
		t.Errorf("limit: %+v after %d deltas", s.err, len(s.deltas))
	}
	wantClass(t, ask(t.Context(), t, m, request(user("cut"))), events.ClassIncomplete)
	wantClass(t, ask(t.Context(), t, m, request(user("none of these"))), events.ClassInvalidRequest)

	for range 2 {
		wantClass(t, ask(t.Context(), t, m, request(user("twice"))), events.ClassOverloaded)
	}
	for range 2 {
		if got := ask(t.Context(), t, m, request(user("twice"))).text(t); got != "at last" {
			t.Errorf("after two failures: %q", got)
		}
	}
	wantClass(t, ask(t.Context(), t, m, request(user("twice"), assistant("at last"), user("twice"))), events.ClassOverloaded)
}

func wantClass(t *testing.T, s said, class events.ErrorClass) {
	t.Helper()
	if e, ok := errors.AsType[*model.Error](s.err); !ok || e.Class != class {
		t.Errorf("error: %v, want class %s", s.err, class)
	}
}

func TestPace(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := parse(t, `
pace: 10ms
rules:
  - {when: {input: slow}, pace: 1s, answer: [{text: "a b "}, {pause: 5s}, {text: c}]}
  - {answer: [{text: a b c d}]}
`)
		for input, want := range map[string]time.Duration{"slow": 8 * time.Second, "else": 40 * time.Millisecond} {
			began := time.Now()
			if s := ask(t.Context(), t, m, request(user(input))); s.err != nil {
				t.Error(s.err)
			}
			if took := time.Since(began); took != want {
				t.Errorf("%s took %v, want %v", input, took, want)
			}
		}
	})
}

func TestCallerMayGiveUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		m := parse(t, `rules: [{answer: [{text: "a b c "}, {pause: 1h}, {text: d}]}]`)
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		s := ask(ctx, t, m, request(user("x")))
		wantClass(t, s, events.ClassCancelled)
		if !errors.Is(s.err, context.DeadlineExceeded) || len(s.deltas) != 3 {
			t.Errorf("%v after %d deltas", s.err, len(s.deltas))
		}
		for d, err := range m.Stream(t.Context(), request(user("x"))) {
			if d.Text != "a " || err != nil {
				t.Errorf("began with %q, %v", d.Text, err)
			}
			break
		}
	})
}

func TestParseNamesThePlaceOfEachProblem(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, src string
		want      []string
	}{
		{"nothing", "", []string{"there are no rules"}},
		{"no YAML", "rules: [", []string{"test.yaml:1:8: "}},
		{"a key that is not known", "rules:\n  - answr: []\n", []string{`test.yaml:2:5: unknown field "answr"`}},
		{"a key that comes twice", "pace: 1s\npace: 2s\n", []string{"test.yaml:2:1: "}},
		{"a wrong type", "rules: 3", []string{"test.yaml:1:8: "}},
		{"no duration", "pace: soon\nrules: [{answer: []}]", []string{"test.yaml"}},
		{
			"several", `
pace: -1s
rules:
  - answer:
      - text: "{{inptu}}"
      - {text: a, pause: 1s}
      - {}
      - text_hex: "0"
      - call: {arguments: "", arguments_hex: ""}
      - call:
          name: x
          count: -1
      - fail: {class: crashed, times: -1}
      - stop: now
      - pause: -1s
      - cut: true
      - text: never
  - when:
      step: -1
    pace: -1s
    usage: {input: -1}
`,
			[]string{
				"test.yaml:2:7: want 0 or more",
				"test.yaml:5:15: {{inptu}} is not known",
				"test.yaml:6:10: want exactly one of",
				"test.yaml:7:9: want exactly one of",
				"test.yaml:8:19: want pairs of hexadecimal digits",
				"test.yaml:9:16: name: there is none",
				"test.yaml:9:16: want at most one of arguments",
				"test.yaml:12:18: want 1 to 10000",
				"test.yaml:13:16: class: \"crashed\", want one of",
				"test.yaml:13:16: want no negative numbers",
				"test.yaml:14:15: \"now\", want one of",
				"test.yaml:15:16: want 0 or more",
				"test.yaml:17:9: never reached",
				"test.yaml:18:5: never used",
				"test.yaml:19:13: steps count from 1",
				"test.yaml:20:11: want 0 or more",
				"test.yaml:21:13: want no negative numbers",
				"test.yaml:18:5: answer: there is none",
			},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := script.Parse("test.yaml", []byte(tt.src))
			if err == nil {
				t.Fatal("no error")
			}
			for _, want := range tt.want {
				if !strings.Contains(err.Error(), want) {
					t.Errorf("want %q in\n%v", want, err)
				}
			}
		})
	}
}

func TestExampleOfThePageIsAScript(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/SCRIPT.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(page), "```yaml\n")
	example, _, found := strings.Cut(rest, "```")
	if !found {
		t.Fatal("the page has no example")
	}
	parse(t, example)
}

func TestLoad(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "a.json")
	if _, err := script.Load(path); err == nil {
		t.Error("a file that is not there was loaded")
	}
	if err := os.WriteFile(path, []byte(`{"rules":[{"answer":[{"text":"hello"}]}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	m, err := script.Load(path)
	if err != nil {
		t.Fatal(err)
	}
	if got := ask(t.Context(), t, m, request(user("x"))).text(t); got != "hello" {
		t.Errorf("got %q", got)
	}
}

// An adapter knows the port and nothing else of ours.
func TestDependencies(t *testing.T) {
	t.Parallel()
	deptest.OnlyOurs(t, deptest.Ours("events", "model", "internal/yamlfile")...)
}
