package openai_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// maps is a model that uses a tool of the client's.
const maps = `
rules:
  - when: {step: 1, offers: show_map}
    answer:
      - text: "Look."
      - call: {name: show_map, arguments: '{"place":"Oslo"}'}
      - call: {name: show_map, arguments: '{"place":"Bergen"}'}
  - when: {step: 2, offers: show_map}
    answer: [{text: "They saw: {{result}}"}]
  - answer: [{text: "You wrote: {{input}}"}]
`

// mapTool is how a client offers a tool of its own.
var mapTool = []fields{{"type": "function", "function": fields{
	"name": "show_map", "description": "Shows a map.",
	"parameters": fields{"type": "object", "properties": fields{"place": fields{"type": "string"}}},
}}}

// result is that of a call.
func result(c call, text string) fields {
	return fields{"role": "tool", "tool_call_id": c.ID, "content": text}
}

// asked is a message of an assistant who asks for calls.
func asked(text string, calls []call) fields {
	list := make([]fields, len(calls))
	for i, c := range calls {
		list[i] = fields{"id": c.ID, "type": "function", "function": fields{"name": c.Function.Name, "arguments": c.Function.Arguments}}
	}
	return fields{"role": "assistant", "content": text, "tool_calls": list}
}

func TestTheClientRunsItsOwnTools(t *testing.T) {
	t.Parallel()
	r := start(t, maps)
	messages := []fields{user("Where?")}
	first := r.ask(with(completion(messages...), "tools", mapTool))
	c := first.Choices[0]
	if c.Finish != "tool_calls" || len(c.Message.ToolCalls) != 2 || c.Message.Content != "Look." || first.Usage.Total == 0 {
		t.Fatalf("answer %+v", c)
	}
	call := c.Message.ToolCalls[0]
	if call.Type != "function" || call.Function.Name != "show_map" || call.Function.Arguments != `{"place":"Oslo"}` {
		t.Errorf("call %+v", call)
	}
	messages = append(messages, asked("Look.", c.Message.ToolCalls), result(c.Message.ToolCalls[0], "Oslo seen"), result(c.Message.ToolCalls[1], "Bergen seen"))
	second := r.ask(with(completion(messages...), "tools", mapTool))
	if second.Chat != first.Chat || second.text() != "They saw: Oslo seen\nBergen seen" || second.Choices[0].Finish != "stop" {
		t.Errorf("answer %+v", second)
	}
	if again := r.ask(with(completion(messages...), "tools", mapTool)); again.text() != second.text() {
		t.Errorf("sent again, it is answered with %+v", again)
	}
	messages = append(messages, assistant(second.text()), user("Thanks"))
	if third := r.ask(completion(messages...)); third.Chat != first.Chat || third.text() != "You wrote: Thanks" {
		t.Errorf("it goes on in %s: %q", third.Chat, third.text())
	}
	if page := r.transcript(first.Chat); len(page.Turns) != 2 || page.Turns[0].Totals.Calls != 2 {
		t.Errorf("turns %+v", page.Turns)
	}
}

func TestCallsAreStreamedWithTheirPlace(t *testing.T) {
	t.Parallel()
	r := start(t, maps)
	s := r.stream(r.Context(), with(completion(user("Where?")), "tools", mapTool), nil)
	if len(s.calls) != 2 || s.calls[1].Index == nil || *s.calls[1].Index != 1 || !slices.Equal(s.finishes, []string{"tool_calls"}) || !s.done {
		t.Errorf("streamed %+v", s)
	}
}

func TestAClientMayOfferToolsAndForbidThem(t *testing.T) {
	t.Parallel()
	r := start(t, maps)
	a := r.ask(with(with(completion(user("Where?")), "tools", mapTool), "tool_choice", "none"))
	if a.text() != "You wrote: Where?" || a.Choices[0].Finish != "stop" {
		t.Errorf("answer %+v", a)
	}
}

func TestAResultOfNobodysCallIsRefused(t *testing.T) {
	t.Parallel()
	r := start(t, maps)
	for _, id := range []string{"call_abc", "call_openai-x_1-1-1", "", "call_" + strings.Repeat("a", 300) + "_1-1-1"} {
		a := r.ask(completion(user("Where?"), asked("", []call{{ID: id}}), fields{"role": "tool", "tool_call_id": id, "content": "x"}))
		if a.Status != http.StatusBadRequest && a.Status != http.StatusNotFound || a.Error == nil || a.Error.Message == "" {
			t.Errorf("call %.20q: status %d, %+v", id, a.Status, a.Error)
		}
	}
}

// mails is a model that uses a tool for which a person is asked.
const mails = `
rules:
  - when: {input: mail, step: 1}
    answer: [{text: "I write it."}, {call: {name: send_mail}}]
  - when: {input: mail}
    answer: [{text: "Done: {{result}}"}]
  - answer: [{text: "You wrote: {{input}}"}]
`

func TestWhatWaitsForAPersonIsSaidAndGoesOnWhenTheyDecide(t *testing.T) {
	t.Parallel()
	r := start(t, mails)
	s := r.stream(r.Context(), completion(user("mail")), func(s *streamed) bool {
		if strings.HasSuffix(s.text, "]") { // the notice has come
			r.approve(s)
		}
		return true
	})
	want := "I write it.\n\n[Everturn: a person is waited for: send_mail (1.1.1); chat "
	if !strings.HasPrefix(s.text, want) || !strings.HasSuffix(s.text, "]\n\nDone: it is on its way") || !s.done {
		t.Errorf("streamed %q", s.text)
	}
	// The notice is none of the assistant's words: the conversation goes on.
	next := r.ask(completion(user("mail"), assistant(s.text), user("next")))
	if next.text() != "You wrote: next" || len(r.transcript(next.Chat).Turns) != 2 {
		t.Errorf("answer %+v", next)
	}
}

// approve approves the call that a notice speaks of.
func (r *rig) approve(s *streamed) {
	r.Helper()
	_, chat, _ := strings.Cut(strings.TrimSuffix(s.text, "]"), "; chat ")
	if page := r.transcript(chat); len(page.Awaiting) != 1 {
		r.Fatalf("%d calls wait in %q", len(page.Awaiting), chat)
	}
	r.command(chat, protocol.Approve{V: protocol.Version, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Decision: protocol.DecideApprove})
}

func TestNobodyIsWaitedForWithoutEnd(t *testing.T) {
	t.Parallel()
	r := start(t, mails)
	a := r.ask(completion(user("mail")), "Prefer", "wait=1")
	if a.Choices[0].Finish != "stop" || !strings.Contains(a.text(), "[Everturn: a person is waited for: send_mail (1.1.1)") {
		t.Errorf("answer %+v", a)
	}
	if page := r.transcript(a.Chat); page.Status != transcript.StatusRunning || len(page.Awaiting) != 1 {
		t.Errorf("the chat is %s", page.Status)
	}
}
