package openai_test

import (
	"testing"

	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// A whole chat with thoughts and two steps with calls, two of which have the same
// id. Between every two messages it is folded from its log again.
func TestAChatOnTheWire(t *testing.T) {
	t.Parallel()
	const thought = `{"choices":[{"index":0,"delta":{"reasoning_content":"I must look"},"finish_reason":null}]}`
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
	want := tree(t, `[
		{"role":"user","content":"hello"},
		{"role":"assistant","reasoning_content":"I must look","content":"北 ","tool_calls":[{"id":"a","type":"function","function":{"name":"look","arguments":"{\"n\": 1}"}}]},
		{"role":"tool","tool_call_id":"a","content":"seen"},
		{"role":"assistant","reasoning_content":"I must look","tool_calls":[
			{"id":"call_1_2_1","type":"function","function":{"name":"look","arguments":"{\"n\":2}"}},
			{"id":"call_1_2_2","type":"function","function":{"name":"look","arguments":"{}"}}]},
		{"role":"tool","tool_call_id":"call_1_2_1","content":"seen"},
		{"role":"tool","tool_call_id":"call_1_2_2","content":"seen"}]`)
	if diff := cmp.Diff(want, sent(t, p, "messages")); diff != "" {
		t.Errorf("third request (-want +got):\n%s", diff)
	}
	if n := len(p.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
