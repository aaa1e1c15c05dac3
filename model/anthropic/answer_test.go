package anthropic_test

import (
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/google/go-cmp/cmp"
)

// Each report replaces what it names of the one before.
func TestCounts(t *testing.T) {
	t.Parallel()
	report := func(usage string) string {
		return stream(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":`+usage+`}`, stop)
	}
	for _, tt := range []struct {
		name, usage string
		want        events.Usage
	}{
		{"the output alone", `{"output_tokens":9}`, events.Usage{Input: 36, Output: 9, CacheRead: 64, CacheWrite: 8}},
		{"all of it again", `{"input_tokens":1,"output_tokens":2,"cache_read_input_tokens":3,"cache_creation_input_tokens":4}`, events.Usage{Input: 1, Output: 2, CacheRead: 3, CacheWrite: 4}},
		{"what was thought is part of the output", `{"output_tokens":9,"output_tokens_details":{"thinking_tokens":5}}`, events.Usage{Input: 36, Output: 9, CacheRead: 64, CacheWrite: 8, Reasoning: 5}},
		{"less than nothing", `{"input_tokens":-1,"output_tokens":-9,"cache_read_input_tokens":-1,"cache_creation_input_tokens":-1}`, events.Usage{}},
		{"more than can be", `{"output_tokens":9223372036854775807}`, events.Usage{Input: 36, Output: events.MaxTokens, CacheRead: 64, CacheWrite: 8}},
		{"null", `null`, events.Usage{Input: 36, Output: 1, CacheRead: 64, CacheWrite: 8}},
		{"what cannot be read", `{"output_tokens":"many"}`, events.Usage{Input: 36, Output: 1, CacheRead: 64, CacheWrite: 8}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			h := answered(t, stream(start), text(0, "so"), report(tt.usage))
			if h.Err != nil {
				t.Fatal(h.Err)
			}
			if diff := cmp.Diff(tt.want, h.Answer.Usage); diff != "" {
				t.Errorf("usage (-want +got):\n%s", diff)
			}
		})
	}
}

// The first report and the newest are kept as they came, with what we do not count.
func TestReportsWordForWord(t *testing.T) {
	t.Parallel()
	report := func(usage string) string {
		return stream(`{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":` + usage + `}`)
	}
	h := answered(t, stream(start), text(0, "so"), report(`{"output_tokens": 2}`), report(`{"output_tokens": 9, "server_tool_use": {"searches":1}}`), report(`null`), stream(stop))
	if h.Err != nil {
		t.Fatal(h.Err)
	}
	want := []string{`{"input_tokens":36,"cache_read_input_tokens":64,"cache_creation_input_tokens":8,"output_tokens":1}`, `{"output_tokens": 9, "server_tool_use": {"searches":1}}`}
	if diff := cmp.Diff(want, h.Answer.RawUsage); diff != "" {
		t.Errorf("reports (-want +got):\n%s", diff)
	}
}

func TestArgumentsMayStandInTheBeginning(t *testing.T) {
	t.Parallel()
	for input, want := range map[string]string{`{"n":1}`: `{"n":1}`, `{}`: `{}`, `null`: ``} {
		h := answered(t, stream(start), stream(opens(0, `"type":"tool_use","id":"toolu_1","name":"look","input":`+input), closes(0)), ended("tool_use"))
		if h.Err != nil || h.Answer.Parts[0].Arguments != want {
			t.Errorf("%s: got %+v, %v", input, h.Answer, h.Err)
		}
	}
}

// A stream that is complete but cannot be read is no answer.
func TestWhatCannotBeRead(t *testing.T) {
	t.Parallel()
	for name, odd := range map[string]string{
		"an event that is no JSON":       "data: {\"type\n\n",
		"a block without a type":         stream(`{"type":"content_block_start","index":1,"content_block":7}`),
		"a block that begins twice":      text(0, "again"),
		"a piece of a block never begun": stream(grows(5, "text_delta", "text", "lost")),
		"a piece of a call never begun":  stream(grows(5, "input_json_delta", "partial_json", "{}")),
	} {
		h := answered(t, stream(start), text(0, "so"), odd, ended("end_turn"))
		if h.Err == nil || h.Err.Class != events.ClassIncomplete {
			t.Errorf("%s: got %+v, %v", name, h.Answer, h.Err)
		}
	}
	for name, harmless := range map[string]string{
		"a keep-alive that is no JSON": "event: ping\ndata: ping\n\n",
		"an event of tomorrow":         stream(`{"type":"weather","sun":true}`),
	} {
		if h := answered(t, stream(start), text(0, "so"), harmless, ended("end_turn")); h.Err != nil {
			t.Errorf("%s: %v (%v)", name, h.Err, h.Err.Err)
		}
	}
}
