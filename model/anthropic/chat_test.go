package anthropic_test

import (
	"testing"

	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// A whole chat with thoughts and two steps with calls, two of which have the same
// id. Between every two messages it is folded from its log again.
func TestAChatOnTheWire(t *testing.T) {
	t.Parallel()
	p := stage.New(t,
		stage.Reply{Pieces: []string{stream(start), thinking(0, "I must look", "c2lnMQ+/=="), text(1, "let me look"), call(2, "toolu_1", "look", `{"n": 1}`), ended("tool_use")}},
		stage.Reply{Pieces: []string{stream(start), thinking(0, "", "c2lnMg=="), call(1, "toolu_1", "look", `{"n":2}`), call(2, "toolu_1", "look"), ended("tool_use")}},
		stage.Reply{Pieces: []string{stream(start), text(0, "done"), ended("end_turn")}})
	m, c := at(t, p.URL), stage.NewChat(t, "mine", "hello")
	for range 3 {
		h := stage.Hear(t.Context(), t, m, c.Prompt())
		if h.Err != nil {
			t.Fatal(h.Err)
		}
		c.Answer(t, h.Answer, "seen")
	}
	want := tree(t, `[
		{"role":"user","content":[{"type":"text","text":"hello"}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"I must look","signature":"c2lnMQ+/=="},
			{"type":"text","text":"let me look"},
			{"type":"tool_use","id":"toolu_1","name":"look","input":{"n":1}}]},
		{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"seen"}],"cache_control":{"type":"ephemeral"}}]},
		{"role":"assistant","content":[
			{"type":"thinking","thinking":"","signature":"c2lnMg=="},
			{"type":"tool_use","id":"call_1_2_1","name":"look","input":{"n":2}},
			{"type":"tool_use","id":"call_1_2_2","name":"look","input":{}}]},
		{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"call_1_2_1","content":[{"type":"text","text":"seen"}]},
			{"type":"tool_result","tool_use_id":"call_1_2_2","content":[{"type":"text","text":"seen"}],"cache_control":{"type":"ephemeral"}}]}]`)
	if diff := cmp.Diff(want, sent(t, p, "messages")); diff != "" {
		t.Errorf("third request (-want +got):\n%s", diff)
	}
	if n := len(p.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
