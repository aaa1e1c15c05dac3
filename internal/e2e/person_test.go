//go:build processes

package e2e

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// askingTurns are turns in which a model asks a person: shortly, and as long as may be.
const askingTurns = `
rules:
  - when: {input: shortly, step: 1}
    answer:
      - call: {name: ask_user, arguments: '{"timeout_seconds": 60, "questions": [{"id": "q", "header": "Go", "text": "Go on?",
          "options": [{"label": "yes", "description": "go on"}, {"label": "no", "description": "stop"}]}]}'}
  - when: {input: patiently, step: 1}
    answer:
      - call: {name: ask_user, arguments: '{"timeout_seconds": 240, "questions": [{"id": "q", "header": "Go", "text": "Go on?",
          "options": [{"label": "yes", "description": "go on"}, {"label": "no", "description": "stop"}]}]}'}
  - when: {input: show, step: 1}
    answer:
      - call: {name: show_map, arguments: '{"place": "Oslo"}'}
  - when: {step: 1}
    answer:
      - text: "Yes."
  - answer:
      - text: "The answer was {{result}}"
`

// sayUntil says something in a new chat and waits until the newest that happened
// there is one of those events.
func sayUntil(t *testing.T, cl *client.Client, r reader, s events.Settings, text string, types ...events.Type) (events.Key, history) {
	t.Helper()
	chat := client.NewID()
	if _, err := cl.Command(patient(t), chat, protocol.Create{V: protocol.Version, Settings: s}); err != nil {
		t.Fatal(err)
	}
	say(t, cl, chat, text)
	k := cl.Key(chat)
	return k, r.until(t, k, fmt.Sprintf("one of %v", types), func(h history) bool { return h.last(types...) })
}

// askAPerson says something in a new chat whose model may ask, and waits until it does.
func askAPerson(t *testing.T, cl *client.Client, r reader, text string) (events.Key, events.QuestionAsked) {
	t.Helper()
	settings := events.Settings{Tools: &[]string{"ask_user"}, ClientTools: &[]events.ClientTool{
		{Name: "show_map", Description: "Shows a map.", Schema: json.RawMessage(`{"type": "object"}`)},
	}}
	k, h := sayUntil(t, cl, r, settings, text, "question.asked.v1", "action.requested.v1")
	return k, append(every[events.QuestionAsked](h), events.QuestionAsked{})[0]
}

// A person has all the time that was promised, and no more: every process is
// killed while questions wait, and a client's own tool. One question is due before
// they are back, and ends as soon as they are; the other still waits for its answer,
// and the client may still send its result.
//
// Rules: S4.7, S8.
func TestQuestionsOutliveEveryProcess(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: askingTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	short, asked := askAPerson(t, cl, r, "ask shortly")
	long, _ := askAPerson(t, cl, r, "ask patiently")

	shown, _ := askAPerson(t, cl, r, "show me a map")

	parts := []string{"projections-1", "orchestrator-1", "orchestrator-2", "toolrunner-1", "toolrunner-2", "server"}
	for _, name := range parts {
		c.kill(name)
	}
	over, cancel := context.WithDeadline(t.Context(), asked.Due.Time())
	defer cancel()
	<-over.Done() // the question is due, and nobody is there
	restarted := time.Now()
	for i := range parts {
		c.restart(parts[len(parts)-1-i])
	}

	h := r.until(t, short, "the end of its turn", func(h history) bool { return h.ended(1) })
	answer := every[events.QuestionAnswered](h)[0]
	if !answer.Expired || answer.Answers[0].Text != "yes" {
		t.Errorf("the question that was due has the answer %+v", answer)
	}
	if late := h.stored[len(h.stored)-1].Sub(restarted); late > slowRecover {
		t.Errorf("it ended %v after the restart, at most %v are allowed", late, slowRecover)
	}
	h = r.until(t, long, "a look", func(history) bool { return true })
	if !h.last("question.asked.v1") {
		t.Fatalf("the question that is not due does not wait any more:\n%s", h)
	}
	if _, err := cl.Answer(patient(t), long.Chat, events.CallID{Turn: 1, Step: 1, Ordinal: 1}, events.Answer{Question: "q", Text: "why not"}); err != nil {
		t.Fatal(err)
	}
	h = r.until(t, long, "the end of its turn", func(h history) bool { return h.ended(1) })
	if answer := every[events.QuestionAnswered](h)[0]; answer.Expired || answer.Answers[0].Text != "why not" {
		t.Errorf("the answer is %+v", answer)
	}
	call := events.CallID{Turn: 1, Step: 1, Ordinal: 1}
	if _, err := cl.ClientResult(patient(t), shown.Chat, call, false, events.Text("a map of Oslo")); err != nil {
		t.Fatal(err)
	}
	h = r.until(t, shown, "the end of its turn", func(h history) bool { return h.ended(1) })
	if want := "The answer was a map of Oslo"; h.finalText() != want {
		t.Errorf("the final text is %q, want %q", h.finalText(), want)
	}
	for _, k := range []events.Key{short, long, shown} {
		say(t, cl, k.Chat, "is anybody there?")
		r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	}
	c.check(r, []events.Key{short, long, shown})
}

// endsWithin is how long an interrupt may take.
const endsWithin = 5 * time.Second

// An interrupt from elsewhere ends a turn that waits for a person, and nothing
// that is said to its question afterwards matters.
//
// Rules: S6.2, S8.
func TestAnInterruptEndsAQuestion(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: askingTurns})
	startParts(c)
	cl, r := c.client(), c.reader()
	k, asked := askAPerson(t, cl, r, "ask patiently")

	began := time.Now()
	c.everturn("interrupt", k.Chat, "--turn", "1")
	h := r.until(t, k, "the end of its turn", func(h history) bool { return h.ended(1) })
	if took := h.stored[len(h.stored)-1].Sub(began); took > endsWithin {
		t.Errorf("it took %v", took)
	}
	if results := every[events.ToolCompleted](h); len(results) != 1 || results[0].Status != events.ToolCancelled {
		t.Errorf("the question came to %+v", results)
	}
	if _, err := cl.Answer(patient(t), k.Chat, asked.Call, events.Answer{Question: "q", Text: "yes"}); err == nil {
		t.Error("an answer was taken after the end")
	}
	say(t, cl, k.Chat, "is anybody there?")
	h = r.until(t, k, "the end of the next turn", func(h history) bool { return h.ended(2) })
	if h.finalText() != "Yes." {
		t.Errorf("the next message is answered with %q", h.finalText())
	}
	c.check(r, []events.Key{k})
}
