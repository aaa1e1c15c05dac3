package openai_test

import (
	"testing"

	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// A whole chat with thoughts and two steps with calls, two of which have the same
// id. Between every two messages it is folded from its log again.
//
// Rule: S4.3.
func TestAChatOnTheWire(t *testing.T) {
	t.Parallel()
	p := stage.New(t,
		stage.Reply{Pieces: []string{stage.Events(thought, north, fragments(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\": 1}"}}`), called, count, done)}},
		stage.Reply{Pieces: []string{stage.Events(thought, fragments(`{"index":0,"id":"a","function":{"name":"look","arguments":"{\"n\":2}"}}`),
			fragments(`{"index":1,"id":"a","function":{"name":"look","arguments":""}}`), called, count, done)}},
		stage.Reply{Pieces: []string{stage.Events(north, ended, done)}})
	m, c := at(t, p.URL), stage.NewChat(t, "mine", "hello")
	for range 3 {
		h := stage.Hear(t.Context(), t, m, c.Prompt())
		if h.Err != nil {
			t.Fatal(h.Err)
		}
		c.Answer(t, h.Answer, "seen")
	}
	const (
		first = `{"role":"system","content":"be brief"},{"role":"user","content":"hello"}`
		step1 = `{"role":"assistant","reasoning_content":"I must look","content":"北 ","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 1}"}}]},
			{"role":"tool","tool_call_id":"a","content":"seen"}`
		step2 = `{"role":"assistant","reasoning_content":"I must look","tool_calls":[
				{"id":"call_1_2_1","type":"function","function":{"name":"look","arguments":"{\"n\":2}"}},
				{"id":"call_1_2_2","type":"function","function":{"name":"look","arguments":"{}"}}]},
			{"role":"tool","tool_call_id":"call_1_2_1","content":"seen"},
			{"role":"tool","tool_call_id":"call_1_2_2","content":"seen"}`
	)
	for n, want := range []string{`[` + first + `]`, `[` + first + `,` + step1 + `]`, `[` + first + `,` + step1 + `,` + step2 + `]`} {
		if diff := cmp.Diff(stage.Tree(t, want), p.Sent(t, n, "messages")); diff != "" {
			t.Errorf("messages of request %d (-want +got):\n%s", n+1, diff)
		}
	}
	if n := len(p.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
