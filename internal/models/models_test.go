package models

import (
	"context"
	"errors"
	"iter"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/orchestrator"
)

// said is a model that says what it is told to.
type said []any // string, events.Usage (an answer with it) or *model.Error

func (s said) Stream(_ context.Context, r model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		for _, what := range s {
			var d model.Delta
			var err error
			switch what := what.(type) {
			case string:
				d = model.Delta{Kind: model.DeltaText, Text: what}
			case events.Usage:
				d.Answer = &model.Answer{Usage: what, Provider: events.Provider{Name: "test", Model: "real-" + r.Model}}
			case error:
				err = what
			}
			if !yield(d, err) {
				return
			}
		}
	}
}

func fails(class events.ErrorClass, used events.Usage) *model.Error {
	return &model.Error{Class: class, Message: "no", Usage: used}
}

// heard is what came of asking.
type heard struct {
	Text  string
	Model string
	Usage events.Usage
	Cost  int64 // -1: unknown
	Class events.ErrorClass
	Why   string
}

func ask(m model.Model) heard {
	h := heard{Cost: -1}
	for d, err := range m.Stream(context.Background(), model.Request{Model: "first"}) {
		if failed, ok := errors.AsType[*model.Error](err); ok {
			h.Class, h.Why, h.Usage = failed.Class, failed.Message, failed.Usage
			if failed.CostMicros != nil {
				h.Cost = *failed.CostMicros
			}
		}
		h.Text += d.Text
		if d.Answer != nil {
			h.Model, h.Usage = d.Answer.Provider.Model, d.Answer.Usage
			if d.Answer.CostMicros != nil {
				h.Cost = *d.Answer.CostMicros
			}
		}
	}
	return h
}

func dollars(input, output int64) *Price { return &Price{Input: &input, Output: &output} }

// Rule: S2.3.
func TestFallbacks(t *testing.T) {
	t.Parallel()
	const price = 1_000_000 // a millionth a token
	in := func(n int64) events.Usage { return events.Usage{Input: n} }
	good := said{"hello", in(10)}
	for _, tt := range []struct {
		name          string
		first, second said
		price         *Price // of both
		want          heard
	}{
		{
			"who answers is asked alone", good,
			said{"never"},
			dollars(price, price),
			heard{Text: "hello", Model: "real-first", Usage: in(10), Cost: 10},
		},
		{
			"a named class before a word leads to the next",
			said{fails(events.ClassOverloaded, events.Usage{})},
			good, dollars(price, price),
			heard{Text: "hello", Model: "real-second", Usage: in(10), Cost: 10},
		},
		{
			"a sign of life is no word",
			said{"", fails(events.ClassOverloaded, events.Usage{})},
			good, nil,
			heard{Text: "hello", Model: "real-second", Usage: in(10), Cost: -1},
		},
		{
			"what the first has used is counted and paid",
			said{fails(events.ClassOverloaded, in(7))},
			good, dollars(price, price),
			heard{Text: "hello", Model: "real-second", Usage: in(17), Cost: 17},
		},
		{
			"another class ends the attempt",
			said{fails(events.ClassInvalidRequest, events.Usage{})},
			good, nil,
			heard{Class: events.ClassInvalidRequest, Why: "no", Cost: -1},
		},
		{
			"after a word nobody else is asked",
			said{"hel", fails(events.ClassOverloaded, in(3))},
			good, nil,
			heard{Text: "hel", Class: events.ClassOverloaded, Why: "no", Usage: in(3), Cost: -1},
		},
		{
			"a broken word is paid, and what was used before it",
			said{fails(events.ClassOverloaded, in(7))},
			said{"hel", fails(events.ClassIncomplete, in(3))},
			dollars(price, price),
			heard{Text: "hel", Class: events.ClassIncomplete, Why: "no", Usage: in(10), Cost: 10},
		},
		{
			"failures that nobody stands in for are paid",
			said{fails(events.ClassOverloaded, in(1))},
			said{fails(events.ClassAuth, in(2))},
			dollars(price, price),
			heard{Class: events.ClassOverloaded, Why: "no; second: auth: no", Usage: in(3), Cost: 3},
		},
		{
			"if nobody answers the failure is the model's own",
			said{fails(events.ClassOverloaded, in(1))},
			said{fails(events.ClassAuth, in(2))},
			nil,
			heard{Class: events.ClassOverloaded, Why: "no; second: auth: no", Usage: in(3), Cost: -1},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := &chain{
				first: &candidate{name: "first", model: tt.first, price: tt.price},
				rest: []alternative{{
					candidate: &candidate{name: "second", model: tt.second, price: tt.price},
					on:        []events.ErrorClass{events.ClassOverloaded, events.ClassRateLimit},
				}},
				log: slog.New(slog.DiscardHandler),
			}
			if diff := cmp.Diff(tt.want, ask(c)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// Rule: S12.
func TestCost(t *testing.T) {
	t.Parallel()
	n := func(v int64) *int64 { return &v }
	full := &Price{Input: n(3_000_000), Output: n(15_000_000), CacheRead: n(300_000), CacheWrite: n(3_750_000)}
	for _, tt := range []struct {
		name  string
		price *Price
		used  events.Usage
		want  *int64
	}{
		{"without a price nobody knows", nil, events.Usage{Input: 1}, nil},
		{"every kind has its price", full, events.Usage{Input: 1000, Output: 100, CacheRead: 10_000, CacheWrite: 1000}, n(3000 + 1500 + 3000 + 3750)},
		{"reasoning is part of the output", full, events.Usage{Output: 100, Reasoning: 90}, n(1500)},
		{"what is used and has no price makes all of it unknown", dollars(1, 1), events.Usage{Input: 1, CacheRead: 1}, nil},
		{"what is free is known to be", dollars(0, 0), events.Usage{Input: 1000}, n(0)},
		{"halves are rounded up", dollars(500_000, 0), events.Usage{Input: 1}, n(1)},
		{"more than can be counted is not known", dollars(maxPrice, maxPrice), events.Usage{Input: 1 << 62}, nil},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.price.Cost(tt.used)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// everyKey is a file with everything in it.
const everyKey = `
default: fast
reviewer: smart
titler: local
models:
  - name: smart
    provider: anthropic
    base_url: https://gateway.example
    api_key_env: GATEWAY_KEY
    bearer: true
    model: claude-opus-5
    window: 1000000
    price: {input: 5000000, output: 25000000, cache_read: 500000, cache_write: 6250000}
    abilities: {images: true, reasoning: true, tools: true}
    defaults: {max_output_tokens: 16000, thinking_tokens: 8000}
    pool: slow
    fallbacks:
      - {model: fast, on: [overloaded, rate_limit]}
  - name: fast
    provider: openai
    defaults: {effort: low}
  - name: local
    provider: openai-compatible
    base_url: http://127.0.0.1:8080/v1
    abilities: {images: false, tools: false}
  - name: fake
    provider: script
`

func TestEveryKeyIsRead(t *testing.T) {
	t.Parallel()
	env := map[string]string{"GATEWAY_KEY": "secret"}
	s, err := Parse("models.yaml", []byte(everyKey), func(k string) string { return env[k] })
	if err != nil {
		t.Fatal(err)
	}
	if s.Default != "fast" || s.Reviewer != "smart" || s.Titler != "local" {
		t.Errorf("default %q, reviewer %q, titler %q", s.Default, s.Reviewer, s.Titler)
	}
	keys := map[string]bool{}
	for _, m := range s.List() {
		keys[m.Name] = m.KeySet
		if _, ok := s.Find(m.Name); !ok {
			t.Errorf("%s is not found", m.Name)
		}
	}
	if diff := cmp.Diff(map[string]bool{"smart": true, "fast": false, "local": true, "fake": true}, keys); diff != "" {
		t.Errorf("keys (-want +got):\n%s", diff)
	}
	if _, ok := s.Find("claude-opus-5"); ok {
		t.Error("a file gives models that are not in it")
	}
	cfg := orchestrator.Config{ModelPools: map[string]string{"local": "night"}}
	s.pool(&cfg)
	if diff := cmp.Diff(map[string]string{"smart": "slow", "local": "night"}, cfg.ModelPools); diff != "" {
		t.Errorf("pools of models (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(map[string]int{"default": 16, "slow": 16, "night": 16}, cfg.Pools); diff != "" {
		t.Errorf("pools (-want +got):\n%s", diff)
	}
	windows := map[string]chat.Window{} // of the script nothing is said
	for _, m := range s.List() {
		if m.Name != "fake" {
			windows[m.Name] = chat.Window{Tokens: m.Window, CompactAt: chat.DefaultCompactAt}
		}
	}
	if diff := cmp.Diff(windows, cfg.Windows); diff != "" {
		t.Errorf("windows (-want +got):\n%s", diff)
	}
}

func TestAModelOfAnyNameIsCompacted(t *testing.T) {
	t.Parallel()
	s, err := Source{}.load(func(k string) string { return map[string]string{"OPENAI_API_KEY": "k"}[k] })
	if err != nil {
		t.Fatal(err)
	}
	var cfg orchestrator.Config
	s.pool(&cfg)
	if w := cfg.Windows[""]; w != (chat.Window{CompactAt: chat.DefaultCompactAt}) {
		t.Errorf("the window of a model without an entry is %+v", w)
	}
}

func TestAModelWithoutItsKeySaysWhichOne(t *testing.T) {
	t.Parallel()
	s, err := Parse("models.yaml", []byte("models: [{name: a, provider: openai}]"), func(string) string { return "" })
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Find("a")
	if h := ask(m); h.Class != events.ClassAuth || !strings.Contains(h.Why, "OPENAI_API_KEY") {
		t.Errorf("got %+v", h)
	}
}

func TestMistakesAreNamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	const anthropic = "models:\n  - name: a\n    provider: anthropic\n"
	for _, tt := range []struct{ name, file, want string }{
		{"nothing", "", "m.yaml:1:1: there are no models"},
		{"no YAML", "models: [", "m.yaml:1:9: "},
		{"an unknown key", anthropic + "    typ: x\n", `m.yaml:4:5: unknown field "typ"`},
		{"a wrong type", anthropic + "    window: big\n", "m.yaml:4:13: "},
		{"a key given twice", anthropic + "    name: b\n", "m.yaml:4:5: "},
		{"no name", "models:\n  - provider: anthropic\n", "m.yaml:2:5: name is missing"},
		{"a name given twice", anthropic + "  - name: a\n    provider: openai\n", "m.yaml:4:11: a is there already"},
		{"the script's name", "models:\n  - name: script\n    provider: openai\n", "m.yaml:2:11: the name script is kept"},
		{"no provider", "models:\n  - name: a\n", "m.yaml:2:5: provider is missing"},
		{"an unknown provider", "models:\n  - name: a\n    provider: acme\n", `m.yaml:3:15: provider is "acme"`},
		{"no address", "models:\n  - name: a\n    provider: openai-compatible\n", "m.yaml:2:5: base_url is missing"},
		{"an address that is none", anthropic + "    base_url: example.com\n", "m.yaml:4:15: base_url must be an address"},
		{"a password in the address", anthropic + "    base_url: https://u:hush@h\n", "m.yaml:4:15: base_url must hold no user"},
		{"a key instead of its variable", anthropic + "    api_key_env: sk-hush\n", "m.yaml:4:18: api_key_env must be the name"},
		{"a key", anthropic + "    api_key: hush\n", `m.yaml:4:5: unknown field "api_key"`},
		{"a key in a list", anthropic + "    api_keys:\n      - hush\n", `m.yaml:4:5: unknown field "api_keys"`},
		{"a key beside others", "models: [{name: a, key: \"hush\", pool: b}]\n", "models: [{name: a, key: …"},
		{"a key with a comma", anthropic + "    key: a,hush\n", "    key: …"},
		{"a key after a quoted name", anthropic + "    \"key\": hush\n", "    \"key\": …"},
		{"a key with an odd name", "models:\n- {name: ap\xff_k\xe9y: hush\n", "- {name: ap\xff_k\xe9y: …"},
		{"a key where a block should begin", "key: >hush\n", "m.yaml:1:6: invalid header option\n"},
		{"a key in a comment", anthropic + "    pool: A.B # not hush\n", "    pool: A.B\n"},
		{"a bad pool", anthropic + "    pool: A.B\n", "m.yaml:4:11: pool is"},
		{"half a price", anthropic + "    price: {input: 1}\n", "m.yaml:4:13: a price has input and output"},
		{"a negative price", anthropic + "    price: {input: -1, output: 1}\n", "m.yaml:4:20: input is -1"},
		{"an address of a script", "models:\n  - name: a\n    provider: script\n    base_url: https://h\n", "m.yaml:4:15: base_url says nothing"},
		{"thinking without the ability", anthropic + "    abilities: {reasoning: false}\n    defaults: {effort: low}\n", "m.yaml:5:16: the model has no ability"},
		{"an unknown default", "default: b\n" + anthropic, `m.yaml:1:10: no model is called "b"; there are a`},
		{"an unknown fallback", anthropic + "    fallbacks: [{model: b, on: [quota]}]\n", `m.yaml:4:25: no model is called "b"`},
		{"oneself as fallback", anthropic + "    fallbacks: [{model: a, on: [quota]}]\n", "m.yaml:4:25: a model cannot stand in for itself"},
		{"a class that nobody can help with", anthropic + "    fallbacks: [{model: a, on: [cancelled]}]\n", `m.yaml:4:33: "cancelled" is no class`},
		{
			"a fallback that can do less",
			anthropic + "    fallbacks: [{model: b, on: [quota]}]\n  - name: b\n    provider: anthropic\n    abilities: {tools: false}\n",
			"m.yaml:4:25: b has no tools, which a has",
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse("m.yaml", []byte(tt.file), func(string) string { return "" })
			if err == nil || !strings.Contains(err.Error(), tt.want) {
				t.Errorf("got  %v\nwant %s", err, tt.want)
			}
			if err != nil && strings.Contains(err.Error(), "hush") {
				t.Errorf("a secret is shown: %v", err)
			}
		})
	}
}

func TestWithoutAFile(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		source  Source
		env     map[string]string
		want    string // the default model
		finds   []string
		without []string
		note    bool
	}{
		{"nothing leads to the script, and says so", Source{}, nil, "script", []string{"script"}, []string{"claude-x"}, true},
		{
			"a key of Anthropic",
			Source{},
			map[string]string{"ANTHROPIC_API_KEY": "k"},
			defaultAnthropic,
			[]string{"claude-x", "anything", "script"},
			nil, false,
		},
		{
			"a key of OpenAI and a model",
			Source{},
			map[string]string{"OPENAI_API_KEY": "k", "OPENAI_MODEL": "gpt-x"},
			"gpt-x",
			[]string{"gpt-y", "script"},
			nil, false,
		},
		{
			"both keys and a name",
			Source{Model: "gpt-x"},
			map[string]string{"ANTHROPIC_API_KEY": "k", "OPENAI_API_KEY": "k"},
			"gpt-x",
			[]string{"claude-x", "o9"},
			nil, false,
		},
		{"who names the script knows", Source{Model: "script"}, nil, "script", nil, nil, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s, err := tt.source.load(func(k string) string { return tt.env[k] })
			if err != nil {
				t.Fatal(err)
			}
			if s.Default != tt.want || (s.Note != "") != tt.note {
				t.Errorf("default %q, note %q", s.Default, s.Note)
			}
			for _, name := range tt.finds {
				if _, ok := s.Find(name); !ok {
					t.Errorf("%s is not found", name)
				}
			}
			for _, name := range tt.without {
				if _, ok := s.Find(name); ok {
					t.Errorf("%s is found", name)
				}
			}
		})
	}
}

func TestAModelThatIsNotThereIsNamedAtTheStart(t *testing.T) {
	t.Parallel()
	_, err := Source{Model: "nobody"}.load(func(string) string { return "" })
	if err == nil || !strings.Contains(err.Error(), "nobody") {
		t.Errorf("got %v", err)
	}
}

func TestScriptsLieBesideTheFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	for name, content := range map[string]string{
		"models.yaml":  "models: [{name: fake, provider: script, script: answers.yaml}]",
		"answers.yaml": "rules: [{answer: [{text: from the file}]}]",
	} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(filepath.Join(folder, "models.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	m, _ := s.Find("fake")
	if h := ask(m); h.Text != "from the file" || h.Model != "fake" || h.Cost != -1 {
		t.Errorf("got %+v", h)
	}
}

func TestAModelWithoutToolsIsToldWhatTheyDid(t *testing.T) {
	t.Parallel()
	r := withoutTools(model.Request{
		Tools: []model.Tool{{Name: "clock"}},
		Messages: []model.Message{
			{Role: model.RoleUser, Parts: []events.Part{events.Text("time?")}},
			{Role: model.RoleAssistant, Parts: []events.Part{{Type: events.PartCall, Name: "clock", Arguments: "{}"}}},
			{Role: model.RoleTool, Results: []model.Result{{Name: "clock", Parts: []events.Part{events.Text("noon")}}}},
		},
	})
	want := model.Request{Messages: []model.Message{
		{Role: model.RoleUser, Parts: []events.Part{events.Text("time?")}},
		{Role: model.RoleAssistant, Parts: []events.Part{events.Text("[call of clock with {}]")}},
		{Role: model.RoleUser, Parts: []events.Part{events.Text("[result of clock: noon]")}},
	}}
	if diff := cmp.Diff(want, r); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
