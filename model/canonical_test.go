package model

import (
	"bytes"
	"testing"

	"github.com/everturn/everturn/events"
)

// FuzzCanonical writes messages of any text by hand and by encoding/json.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		"plain", "", `"quoted" \ and \n`, "lines\nof\r\n\ttext", "größe, 漢字, 🙂", "a\u2028b", "<b>&amp;</b>", "\x00\x7f\x1f", "\xff half \xc3",
	} {
		f.Add(s, "user", true)
		f.Add("text", s, false)
	}
	f.Fuzz(func(t *testing.T, text, name string, is bool) {
		plain, call := events.Text(text), events.Part{Type: events.PartCall, Name: name, Arguments: text, ProviderID: "call_1", Ordinal: 1}
		for _, m := range []Message{
			{Role: RoleUser, Parts: []events.Part{plain}},
			{Role: Role(name), Parts: []events.Part{plain, events.Text("and"), plain}},
			{Role: RoleAssistant, Parts: []events.Part{plain, call}},
			{Role: RoleTool, Results: []Result{{WireID: name, Name: text, Parts: []events.Part{plain}, IsError: is}, {WireID: "2"}}},
			{Role: RoleTool, Results: []Result{{WireID: "call_1", Name: "look", Parts: []events.Part{plain}}, {Parts: []events.Part{}}}},
			{Role: RoleTool, Parts: []events.Part{}},
		} {
			want := append([]byte("before "), canonical(m)...)
			if got := m.AppendCanonical([]byte("before ")); !bytes.Equal(got, want) {
				t.Errorf("%s\nwant %s", got, want)
			}
			if got := m.Canonical(); !bytes.Equal(got, want[len("before "):]) {
				t.Errorf("%s\nwant %s", got, want)
			}
		}
	})
}

func TestPlainTextAndCallsAreWrittenByHand(t *testing.T) {
	t.Parallel()
	m := Message{Role: RoleTool, Results: []Result{{WireID: "call_1", Name: "look", Parts: []events.Part{events.Text("a \"line\"\n")}}}}
	if _, ok := m.appendPlain(nil); !ok {
		t.Error("it is not")
	}
	m = Message{Role: RoleAssistant, Parts: []events.Part{{Type: events.PartCall, Ordinal: 1, Arguments: `{"a":1}`, ProviderID: "call_1", Name: "look"}}}
	if _, ok := m.appendPlain(nil); !ok {
		t.Error("a call is not")
	}
}
