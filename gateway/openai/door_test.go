package openai_test

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// echo answers with what was said, and with how many answers there were.
const echo = `
rules:
  - when: {input: think}
    answer:
      - reasoning: "Let me see."
      - text: "Thought about it."
  - answer:
      - text: "You wrote: {{input}}"
`

func TestModelsAreTheDefaultAndTheAgents(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	r.agent("reviewer", events.Settings{System: "You review."})
	q, err := http.NewRequestWithContext(r.Context(), http.MethodGet, r.url+"/v1/models", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	var list struct {
		Object string
		Data   []struct{ ID, Object string }
	}
	decode(t, response, &list)
	if list.Object != "list" || len(list.Data) != 2 || list.Data[0].ID != "default" || list.Data[1].ID != "reviewer" || list.Data[1].Object != "model" {
		t.Errorf("listed %+v", list)
	}
}

func TestACompletionIsATurn(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	a := r.ask(completion(fields{"role": "developer", "content": "Be brief."}, user("think")))
	if a.Status != http.StatusOK || a.Object != "chat.completion" || a.Model != "default" || !strings.HasPrefix(a.ID, "chatcmpl-") || len(a.Choices) != 1 {
		t.Fatalf("answer %+v", a)
	}
	c := a.Choices[0]
	if c.Message.Role != "assistant" || c.Message.Content != "Thought about it." || c.Message.ReasoningContent != "Let me see." || c.Finish != "stop" {
		t.Errorf("choice %+v", c)
	}
	if a.Usage == nil || a.Usage.Prompt == 0 || a.Usage.Completion == 0 || a.Usage.Total != a.Usage.Prompt+a.Usage.Completion {
		t.Errorf("usage %+v", a.Usage)
	}
	page := r.transcript(a.Chat)
	if len(page.Messages) != 2 || page.Messages[0].By != "user:ann" {
		t.Errorf("the chat has %+v", page.Messages)
	}
}

func TestAStreamSaysWhoSpeaksThenTheWordsThenWhyItEnds(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	s := r.stream(r.Context(), with(completion(user("think")), "stream_options", fields{"include_usage": true}), nil)
	if s.text != "Thought about it." || s.reasoning != "Let me see." || !slices.Equal(s.finishes, []string{"stop"}) || !s.done {
		t.Errorf("streamed %+v", s)
	}
	if first := s.chunks[0]; first.Object != "chat.completion.chunk" || first.Choices[0].Delta.Role != "assistant" {
		t.Errorf("first %+v", first)
	}
	if last := s.chunks[len(s.chunks)-1]; len(last.Choices) != 0 || last.Usage == nil || last.Usage.Total == 0 {
		t.Errorf("last %+v", last)
	}
	without := r.stream(r.Context(), completion(user("other")), nil)
	if last := without.chunks[len(without.chunks)-1]; last.Usage != nil || len(last.Choices) != 1 || !without.done {
		t.Errorf("usage came unasked: %+v", last)
	}
}

func TestWhoeverSendsTheWholeConversationGoesOnInItsChat(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	messages := []fields{user("one")}
	first := r.ask(completion(messages...))
	for _, text := range []string{"two", "three"} {
		messages = append(messages, assistant(lastText(r, first.Chat)), user(text))
		next := r.ask(completion(messages...))
		if next.text() != "You wrote: "+text || next.Chat != first.Chat {
			t.Errorf("%s is answered with %q in %s, not %s", text, next.text(), next.Chat, first.Chat)
		}
	}
	if page := r.transcript(first.Chat); len(page.Messages) != 6 || len(page.Turns) != 3 {
		t.Errorf("the chat has %d messages in %d turns", len(page.Messages), len(page.Turns))
	}
}

// A client that has not got its answer sends the same again.
func TestARequestSentAgainIsTheSame(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	messages := []fields{user("one")}
	first := r.ask(completion(messages...))
	for range 3 {
		if again := r.ask(completion(messages...)); again.text() != first.text() || again.Chat != first.Chat || again.ID != first.ID {
			t.Errorf("answered %+v, and before %+v", again, first)
		}
	}
	messages = append(messages, assistant(first.text()), user("two"))
	second := r.ask(completion(messages...))
	if again := r.ask(completion(messages...)); again.text() != second.text() || again.ID != second.ID {
		t.Errorf("answered %+v, and before %+v", again, second)
	}
	if page := r.transcript(first.Chat); len(page.Messages) != 4 {
		t.Errorf("the chat has %d messages", len(page.Messages))
	}
}

func TestTwoPeopleWhoSayTheSameHaveAChatEach(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	ann, bob := r.ask(completion(user("hello")), protocol.HeaderBy, "user:ann"), r.ask(completion(user("hello")), protocol.HeaderBy, "user:bob")
	if ann.Status != http.StatusOK || bob.Status != http.StatusOK || ann.Chat == bob.Chat {
		t.Fatalf("chats %d %q and %d %q", ann.Status, ann.Chat, bob.Status, bob.Chat)
	}
	on := completion(user("hello"), assistant(bob.text()), user("and?"))
	if got := r.ask(on, protocol.HeaderBy, "user:bob"); got.Chat != bob.Chat {
		t.Errorf("he goes on in %s, want %s", got.Chat, bob.Chat)
	}
}

func TestAClientThatGoesBackGetsAChatOfItsOwn(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	first := r.ask(completion(user("one")))
	history := []fields{user("one"), assistant(first.text())}
	left := r.ask(completion(append(slices.Clone(history), user("two"))...))
	right := r.ask(completion(append(slices.Clone(history), user("zwei"))...))
	if left.Chat != first.Chat || right.Chat == first.Chat || right.text() != "You wrote: zwei" {
		t.Errorf("left in %s, right in %s: %q", left.Chat, right.Chat, right.text())
	}
	history = append(history, user("zwei"), assistant(right.text()), user("drei"))
	if on := r.ask(completion(history...)); on.Chat != right.Chat {
		t.Errorf("it goes on in %s, not %s", on.Chat, right.Chat)
	}
	page := r.transcript(right.Chat)
	if len(page.Messages) != 6 || page.Messages[2].Parts[0].Text != "zwei" {
		t.Errorf("the chat has %d messages", len(page.Messages))
	}
}

func TestAConversationHeldElsewhereIsTold(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	a := r.ask(completion(user("What is the capital?"), assistant("Oslo."), user("And its river?")))
	page := r.transcript(a.Chat)
	if a.Status != http.StatusOK || len(page.Messages) != 2 || len(page.Messages[0].Parts) != 2 {
		t.Fatalf("answer %+v, messages %+v", a, page.Messages)
	}
	told := page.Messages[0].Parts[0].Text
	for _, want := range []string{"began elsewhere", "[user]\nWhat is the capital?", "[assistant]\nOslo."} {
		if !strings.Contains(told, want) {
			t.Errorf("%q is not in %q", want, told)
		}
	}
	on := r.ask(completion(user("What is the capital?"), assistant("Oslo."), user("And its river?"), assistant(a.text()), user("Thanks")))
	if on.Chat != a.Chat {
		t.Errorf("it goes on in %s, not %s", on.Chat, a.Chat)
	}
}

func TestAChatThatIsNamedTakesTheNewestWordsOnly(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	first := r.ask(completion(user("not said"), assistant("nor this"), user("one")), "Everturn-Chat", "oslo")
	second := r.ask(with(completion(user("two")), "metadata", fields{"chat_id": "oslo"}))
	if first.Chat != "oslo" || second.Chat != "oslo" || first.text() != "You wrote: one" || second.text() != "You wrote: two" {
		t.Errorf("answers %+v and %+v", first, second)
	}
	if again := r.ask(completion(user("two")), "Everturn-Chat", "oslo"); again.ID != second.ID {
		t.Errorf("sent again it is %s, not %s", again.ID, second.ID)
	}
	yes := r.ask(completion(user("one")), "Everturn-Chat", "oslo") // the same words, later
	if yes.ID == first.ID {
		t.Error("the same words, said later, are not said")
	}
	key := []string{"Everturn-Chat", "oslo", "Idempotency-Key", "k1"}
	if a, b := r.ask(completion(user("three")), key...), r.ask(completion(user("three")), key...); a.ID != b.ID {
		t.Errorf("one key is two: %s, %s", a.ID, b.ID)
	}
	if page := r.transcript("oslo"); len(page.Messages) != 8 {
		t.Errorf("the chat has %d messages", len(page.Messages))
	}
	if no := r.ask(with(completion(user("x")), "metadata", fields{"chat_id": "bergen"}), "Everturn-Chat", "oslo"); no.Status != http.StatusBadRequest {
		t.Errorf("two chats are named, and the answer is %d", no.Status)
	}
}

func TestAClientThatGoesAwayStopsNothing(t *testing.T) {
	t.Parallel()
	r := start(t, `
rules:
  - when: {input: long}
    answer: [{text: "It begins"}, {pause: 1500ms}, {text: " and ends."}]
  - answer: [{text: "You wrote: {{input}}"}]
`)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	var chat string
	part := r.stream(ctx, completion(user("long")), func(s *streamed) bool { return s.text == "" })
	cancel()
	whole := r.ask(completion(user("long"))) // comes back
	chat = whole.Chat
	if part.text == "" || whole.text() != "It begins and ends." {
		t.Errorf("it left at %q and found %q", part.text, whole.text())
	}
	next := r.ask(completion(user("long"), assistant(part.text), user("next"))) // or never had more of it
	if next.Chat != chat || next.text() != "You wrote: next" {
		t.Errorf("what it says next is in %s, not %s: %q", next.Chat, chat, next.text())
	}
	if page := r.transcript(chat); len(page.Turns) != 2 || page.Turns[0].Status != transcript.TurnCompleted {
		t.Errorf("turns %+v", page.Turns)
	}
}

func TestAnAgentIsAModel(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	r.agent("reviewer", events.Settings{System: "You review."})
	a := r.ask(with(completion(fields{"role": "system", "content": "Answer in verse."}, user("hello")), "model", "reviewer"))
	started := startOf(r, a.Chat)
	if a.Model != "reviewer" || started.Agent != "reviewer" || started.System != "You review.\n\nAnswer in verse." {
		t.Errorf("model %s, turn with %+v", a.Model, started)
	}
	no := r.ask(with(completion(user("hello")), "model", "gpt-9"))
	if no.Status != http.StatusNotFound || no.Error == nil || no.Error.Code != "model_not_found" || no.Error.Param != "model" {
		t.Errorf("an unknown model: %+v", no.Error)
	}
}

func lastText(r *rig, chat string) string {
	r.Helper()
	page := r.transcript(chat)
	var all string
	for _, p := range page.Messages[len(page.Messages)-1].Parts {
		all += p.Text
	}
	return all
}

func (r *rig) transcript(chat string) transcript.Page {
	r.Helper()
	page, err := r.client.Transcript(r.Context(), chat)
	if err != nil {
		r.Fatalf("transcript of %s: %v", chat, err)
	}
	return page
}

// command sends a command as somebody else would.
func (r *rig) command(chat string, body protocol.Body) {
	r.Helper()
	if _, err := client.New(r.nc, "", "user:bob").Command(r.Context(), chat, body); err != nil {
		r.Fatal(err)
	}
}
