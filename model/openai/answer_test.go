package openai_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// What is counted goes by other names elsewhere, and stands in other places.
func TestCounts(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name, usage string // the fields of the last chunk
		want        events.Usage
	}{
		{"as OpenAI", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":2}}`, events.Usage{Input: 6, Output: 5, CacheRead: 4, Reasoning: 2}},
		{"read from a cache, beside", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_cache_hit_tokens":4}`, events.Usage{Input: 6, Output: 5, CacheRead: 4}},
		{"read from a cache, at the top", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"cached_tokens":4}`, events.Usage{Input: 6, Output: 5, CacheRead: 4}},
		{"written to a cache", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":1,"cache_write_tokens":3}}`, events.Usage{Input: 6, Output: 5, CacheRead: 1, CacheWrite: 3}},
		{"thoughts counted apart", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":5,"total_tokens":17,"completion_tokens_details":{"reasoning_tokens":2}}`, events.Usage{Input: 10, Output: 7, Reasoning: 2}},
		{"in a place of its own", `"choices":[],"x_groq":{"usage":{"prompt_tokens":10,"completion_tokens":5}}`, events.Usage{Input: 10, Output: 5}},
		{"with the choice", `"choices":[{"index":0,"delta":{},"usage":{"prompt_tokens":10,"completion_tokens":5}}]`, events.Usage{Input: 10, Output: 5}},
		{"a second choice, which nobody asked for", `"choices":[{"index":1,"delta":{"content":"no"}}],"usage":{"prompt_tokens":10,"completion_tokens":5}`, events.Usage{Input: 10, Output: 5}},
		{"what cannot be read", `"choices":[],"usage":{"prompt_tokens":"many"}`, events.Usage{}},
		{"less than nothing", `"choices":[],"usage":{"prompt_tokens":10,"completion_tokens":-5,"prompt_tokens_details":{"cached_tokens":-9223372036854775808}}`, events.Usage{Input: 10}},
		{"more than can be", `"choices":[],"usage":{"prompt_tokens":9223372036854775807,"completion_tokens":9223372036854775807,"total_tokens":-1,"completion_tokens_details":{"reasoning_tokens":1}}`, events.Usage{Input: events.MaxTokens, Output: events.MaxTokens, Reasoning: 1}},
		{"nothing", `"choices":[],"usage":null`, events.Usage{}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := answered(t, stage.Events(first, north, `{`+tt.usage+`}`, ended, done))
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff(tt.want, h.Answer.Usage); diff != "" || len(h.Answer.Parts) != 1 {
				t.Errorf("%d parts, usage (-want +got):\n%s", len(h.Answer.Parts), diff)
			}
		})
	}
}

// The last report that counts anything is kept as it came, with what we do not count.
func TestReportsWordForWord(t *testing.T) {
	t.Parallel()
	h := answered(t, stage.Events(first, north,
		`{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
		`{"choices":[],"usage":{"prompt_tokens": 10, "completion_tokens":5,"cost":0.25}}`,
		`{"choices":[],"usage":{"prompt_tokens":0,"completion_tokens":0}}`, ended, done))
	if h.Err != nil {
		t.Fatal(h.Err)
	}
	if diff := cmp.Diff([]string{`{"prompt_tokens": 10, "completion_tokens":5,"cost":0.25}`}, h.Answer.RawUsage); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

// What is said and thought stands in other fields elsewhere.
func TestContents(t *testing.T) {
	t.Parallel()
	thinks := func(text, opaque string) events.Part {
		p := events.Part{Type: events.PartReasoning, Text: text, Provider: "openai", Model: "mine"}
		if opaque != "" {
			p.Opaque = []byte(opaque)
		}
		return p
	}
	for _, tt := range []struct {
		name   string
		deltas []string
		want   []events.Part
		stop   events.Stop
	}{
		{"a refusal", []string{`"refusal":"I will"`, `"refusal":" not"`}, []events.Part{events.Text("I will not")}, events.StopRefused},
		{
			"a list of pieces",
			[]string{`"content":[{"type":"thinking","thinking":[{"type":"text","text":"hm"}]},{"type":"text","text":"so"},{"type":"else"}]`},
			[]events.Part{thinks("hm", `{"field":"content"}`), events.Text("so")},
			events.StopEnd,
		},
		{"content of no known kind", []string{`"content":7`, `"content":"so"`}, []events.Part{events.Text("so")}, events.StopEnd},
		{"thoughts in both fields", []string{`"reasoning":"hm","reasoning_content":"hm"`}, []events.Part{thinks("hm", "")}, events.StopEnd},
		{
			"details in pieces",
			[]string{
				`"reasoning_details":[{"type":"reasoning.text","text":"I ","index":0}]`,
				`"reasoning_details":[{"type":"reasoning.text","text":"must","index":0,"signature":"s","format":null}]`,
				`"reasoning_details":[{"type":"reasoning.encrypted","data":"x","index":1}]`,
			},
			[]events.Part{thinks("", `{"details":[{"index":0,"signature":"s","text":"I must","type":"reasoning.text"},{"type":"reasoning.encrypted","data":"x","index":1}]}`)},
			events.StopEnd,
		},
		{
			"arguments as an object",
			[]string{`"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":{"n":1}}}]`},
			[]events.Part{{Type: events.PartCall, Ordinal: 1, Name: "f", Arguments: `{"n":1}`, ProviderID: "a"}},
			events.StopCalls,
		},
		{"an empty beginning of a call", []string{`"tool_calls":[{"index":0,"id":"a","function":{}}]`, `"content":"so"`}, []events.Part{events.Text("so")}, events.StopEnd},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			list := []string{first}
			for _, d := range tt.deltas {
				list = append(list, `{"choices":[{"index":0,"delta":{`+d+`},"finish_reason":null}]}`)
			}
			h := answered(t, stage.Events(append(list, ended, done)...))
			if h.Err != nil {
				t.Fatal(h.Err, h.Err.Err)
			}
			if diff := cmp.Diff(tt.want, h.Answer.Parts); diff != "" || h.Answer.Stop != tt.stop {
				t.Errorf("stop %s, parts (-want +got):\n%s", h.Answer.Stop, diff)
			}
		})
	}
}

// A stream that is complete but cannot be read is no answer.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, event := range map[string]string{
		"an event that is no JSON": `{"choices":`,
		"an event that is cut off": north[:len(north)-9],
	} {
		h := answered(t, stage.Events(first, north, event, ended, done))
		if h.Err == nil || h.Err.Class != events.ClassIncomplete {
			t.Errorf("%s: got %+v, %v", name, h.Answer, h.Err)
		}
	}
}
