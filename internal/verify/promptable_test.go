package verify_test

import (
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/model"
)

func TestWhatAModelMayBeShown(t *testing.T) {
	t.Parallel()

	text := func(s string) []events.Part { return []events.Part{events.Text(s)} }
	user := model.Message{Role: model.RoleUser, Parts: text("hello")}
	call := func(id string) events.Part {
		return events.Part{Type: events.PartCall, Ordinal: 1, Name: "read", Arguments: "{}", ProviderID: id}
	}
	asks := func(ids ...string) model.Message {
		m := model.Message{Role: model.RoleAssistant}
		for _, id := range ids {
			m.Parts = append(m.Parts, call(id))
		}
		return m
	}
	tells := func(ids ...string) model.Message {
		m := model.Message{Role: model.RoleTool}
		for _, id := range ids {
			m.Results = append(m.Results, model.Result{WireID: id, Name: "read", Parts: text("done")})
		}
		return m
	}
	says := func(p events.Part) model.Message {
		return model.Message{Role: model.RoleAssistant, Parts: []events.Part{p}}
	}
	for _, tt := range []struct {
		name     string
		messages []model.Message
		want     string // in the problem; empty if there is none
	}{
		{"nothing at all", nil, ""},
		{"a question", []model.Message{user}, ""},
		{"calls and their results", []model.Message{user, asks("a", "b"), tells("a", "b"), user}, ""},
		{"calls at the end, without results", []model.Message{user, asks("a")}, "calls without results"},
		{"something else between calls and results", []model.Message{user, asks("a"), user, tells("a")}, "calls without results"},
		{"results without calls", []model.Message{user, tells("a")}, "results without calls"},
		{"one result too few", []model.Message{user, asks("a", "b"), tells("a")}, "1 results for 2 calls"},
		{"results in another order", []model.Message{user, asks("a", "b"), tells("b", "a")}, "answers"},
		{"an id twice in a step", []model.Message{user, asks("a", "a"), tells("a", "a")}, "twice"},
		{"an id twice in a chat", []model.Message{user, asks("a"), tells("a"), asks("a"), tells("a")}, "twice"},
		{"a call without id", []model.Message{user, asks(""), tells("")}, "no id"},
		{"an empty result", []model.Message{user, asks("a"), {Role: model.RoleTool, Results: []model.Result{{WireID: "a"}}}}, "empty"},
		{"a message without content", []model.Message{{Role: model.RoleUser}}, "no content"},
		{"no results in a message of results", []model.Message{user, {Role: model.RoleTool}}, "no results"},
		{"an empty text", []model.Message{{Role: model.RoleUser, Parts: text("")}}, "empty"},
		{"text that is none", []model.Message{{Role: model.RoleUser, Parts: text("\xff")}}, "no model takes"},
		{"an order to a terminal", []model.Message{{Role: model.RoleUser, Parts: text("\x1b[31m")}}, "no model takes"},
		{"a role that nobody has", []model.Message{{Role: "system", Parts: text("x")}}, "role"},
		{"arguments that are no JSON", []model.Message{says(events.Part{Type: events.PartCall, Arguments: "{"})}, "no JSON"},
		{"its own reasoning", []model.Message{says(events.Part{Type: events.PartReasoning, Opaque: []byte("x"), Model: "small"})}, ""},
		{"another model's reasoning", []model.Message{says(events.Part{Type: events.PartReasoning, Opaque: []byte("x"), Model: "large"})}, "for the model large"},
		{"content that lies apart", []model.Message{{Role: model.RoleUser, Parts: []events.Part{{Type: events.PartText, Blob: "sha256:x"}}}}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := verify.Promptable(model.Request{Model: "small", Messages: tt.messages})
			if (got == "") != (tt.want == "") || !strings.Contains(got, tt.want) {
				t.Errorf("problem %q, want %q", got, tt.want)
			}
		})
	}
}
