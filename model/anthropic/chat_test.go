package anthropic_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/model/internal/stage"
	"github.com/google/go-cmp/cmp"
)

// A whole chat with thoughts and two steps with calls, two of which have the same
// id. Between every two messages it is folded from its log again. Where the
// provider may keep what it read moves on, and the last place stays marked once
// more, so that it is found.
//
// Rule: S4.3.
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
	const (
		mark  = `,"cache_control":{"type":"ephemeral"}`
		first = `{"type":"text","text":"hello"`
		step1 = `{"role":"assistant","content":[
			{"type":"thinking","thinking":"I must look","signature":"c2lnMQ+/=="},
			{"type":"text","text":"let me look"},
			{"type":"tool_use","id":"toolu_1","name":"look","input":{"n":1}}]}`
		seen1 = `{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"seen"}]` + mark + `}]}`
		step2 = `{"role":"assistant","content":[
			{"type":"thinking","thinking":"","signature":"c2lnMg=="},
			{"type":"tool_use","id":"call_1_2_1","name":"look","input":{"n":2}},
			{"type":"tool_use","id":"call_1_2_2","name":"look","input":{}}]}`
		seen2 = `{"role":"user","content":[
			{"type":"tool_result","tool_use_id":"call_1_2_1","content":[{"type":"text","text":"seen"}]},
			{"type":"tool_result","tool_use_id":"call_1_2_2","content":[{"type":"text","text":"seen"}]` + mark + `}]}`
	)
	for n, want := range []string{
		`[{"role":"user","content":[` + first + mark + `}]}]`,
		`[{"role":"user","content":[` + first + mark + `}]},` + step1 + `,` + seen1 + `]`,
		`[{"role":"user","content":[` + first + `}]},` + step1 + `,` + seen1 + `,` + step2 + `,` + seen2 + `]`,
	} {
		if diff := cmp.Diff(stage.Tree(t, want), p.Sent(t, n, "messages")); diff != "" {
			t.Errorf("messages of request %d (-want +got):\n%s", n+1, diff)
		}
		if diff := cmp.Diff(stage.Tree(t, `[{"type":"text","text":"be brief"`+mark+`}]`), p.Sent(t, n, "system")); diff != "" {
			t.Errorf("system of request %d (-want +got):\n%s", n+1, diff)
		}
		if marks := strings.Count(p.Requests()[n].Body, mark); marks > 4 {
			t.Errorf("request %d has %d marks, and the provider takes 4", n+1, marks)
		}
	}
	if n := len(p.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
}
