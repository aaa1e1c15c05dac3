package openai_test

import (
	"encoding/base64"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
)

// failing is a model that fails in all ways.
const failing = `
rules:
  - when: {input: late}
    answer: [{text: "It begins"}, {pause: 700ms}, {fail: {class: auth, message: "no such key"}}]
  - when: {input: limit}
    answer: [{fail: {class: quota, message: "nothing is left"}}]
  - when: {input: long}
    answer: [{fail: {class: context_too_large, message: "too much"}}]
  - when: {input: once}
    answer: [{fail: {class: auth, message: "not yet", times: 1}}, {text: "Now it is."}]
  - answer: [{text: "You wrote: {{input}}"}]
`

func TestARefusalHasTheFormOfTheAPI(t *testing.T) {
	t.Parallel()
	r := start(t, failing)
	many := make([]fields, 5000)
	for i := range many {
		many[i] = user("x")
	}
	for _, tt := range []struct {
		name   string
		body   fields
		status int
		kind   string
	}{
		{"no model", fields{"messages": []fields{user("x")}}, 400, "invalid_request_error"},
		{"a model of nobody", with(completion(user("x")), "model", "nobody"), 404, "invalid_request_error"},
		{"no messages", completion(), 400, "invalid_request_error"},
		{"too many messages", completion(many...), 400, "invalid_request_error"},
		{"nobody speaks", completion(fields{"role": "system", "content": "x"}), 400, "invalid_request_error"},
		{"nothing is said", completion(user("")), 400, "invalid_request_error"},
		{"an unknown role", completion(fields{"role": "bot", "content": "x"}), 400, "invalid_request_error"},
		{"the assistant speaks last", completion(user("x"), assistant("y")), 400, "invalid_request_error"},
		{"several answers", with(completion(user("x")), "n", 2), 400, "invalid_request_error"},
		{"messages that are a text", with(completion(user("x")), "messages", "x"), 400, "invalid_request_error"},
		{"a sound", completion(fields{"role": "user", "content": []fields{{"type": "input_audio"}}}), 400, "invalid_request_error"},
		{"an address", completion(image("https://example.com/x.png")), 400, "invalid_request_error"},
		{"no image", completion(image("data:image/png;base64,AAAA")), 400, "invalid_request_error"},
		{"a tool without a name", with(completion(user("x")), "tools", []fields{{"type": "function"}}), 400, "invalid_request_error"},
		{"a chat that there cannot be", with(completion(user("x")), "metadata", fields{"chat_id": "a b"}), 400, "invalid_request_error"},
		{"a model that has no quota left", completion(user("limit")), 429, "rate_limit_error"},
		{"a model that takes no more", completion(user("long")), 400, "invalid_request_error"},
		{"a model that fails late", completion(user("late")), 500, "server_error"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a := r.ask(tt.body)
			if a.Status != tt.status || a.Error == nil || a.Error.Type != tt.kind || a.Error.Message == "" || a.Error.Code == "" {
				t.Errorf("status %d, error %+v", a.Status, a.Error)
			}
		})
	}
}

func image(url string) fields {
	return fields{"role": "user", "content": []fields{
		{"type": "text", "text": "What is this?"}, {"type": "image_url", "image_url": fields{"url": url}},
	}}
}

func TestAFailureAfterTheFirstWordsIsTheLastThingInTheStream(t *testing.T) {
	t.Parallel()
	r := start(t, failing)
	s := r.stream(r.Context(), completion(user("late")), nil)
	last := s.chunks[len(s.chunks)-1]
	if s.text != "It begins" || s.done || len(s.finishes) != 0 || last.Error == nil || last.Error.Code != "auth" || !strings.Contains(last.Error.Message, "no such key") {
		t.Errorf("streamed %q, last %+v", s.text, last.Error)
	}
}

func TestAFailureIsTriedAgainWhenTheRequestComesAgain(t *testing.T) {
	t.Parallel()
	r := start(t, failing)
	response := r.post(r.Context(), completion(user("once")))
	defer response.Body.Close()
	if response.StatusCode != http.StatusInternalServerError || response.Header.Get("X-Should-Retry") != "false" {
		t.Errorf("status %d, headers %v", response.StatusCode, response.Header)
	}
	a := r.ask(completion(user("once")))
	if a.text() != "Now it is." {
		t.Errorf("answer %+v", a)
	}
	next := r.ask(completion(user("once"), assistant(a.text()), user("next")))
	if next.Chat != a.Chat || next.text() != "You wrote: next" {
		t.Errorf("it goes on in %s: %q", next.Chat, next.text())
	}
}

func TestAnImageComesAlong(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	png, err := base64.StdEncoding.DecodeString(pixel)
	if err != nil {
		t.Fatal(err)
	}
	a := r.ask(completion(image("data:image/png;base64," + pixel)))
	if a.Status != http.StatusOK {
		t.Fatalf("answer %+v", a)
	}
	part := r.transcript(a.Chat).Messages[0].Parts[1]
	if part.Type != events.PartImage || part.MediaType != "image/png" || part.Blob != events.DigestOf(png) || part.Bytes != int64(len(png)) {
		t.Errorf("part %+v", part)
	}
	if on := r.ask(completion(image("data:image/png;base64,"+pixel), assistant(a.text()), user("on"))); on.Chat != a.Chat {
		t.Error("what has an image is not found again")
	}
}

// pixel is a PNG of one.
const pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

// Each of many conversations at a time gets its own answer.
func TestManyAtATime(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	var asking sync.WaitGroup
	for i := range 24 {
		asking.Go(func() {
			text := "number " + strings.Repeat("i", i+1) + "."
			a := r.ask(completion(user(text)))
			b := r.ask(completion(user(text), assistant(a.text()), user("and "+text)))
			if a.text() != "You wrote: "+text || b.text() != "You wrote: and "+text || a.Chat != b.Chat {
				t.Errorf("answers %q and %q", a.text(), b.text())
			}
		})
	}
	asking.Wait()
}

// The same words, at the same time, are one request: nobody can tell a second client
// from the first one that tries again.
func TestTheSameAtTheSameTimeIsOne(t *testing.T) {
	t.Parallel()
	r := start(t, echo)
	var asking sync.WaitGroup
	ids := make([]string, 8)
	for i := range ids {
		asking.Go(func() { ids[i] = r.ask(completion(user("one"))).ID })
	}
	asking.Wait()
	for _, id := range ids {
		if id != ids[0] {
			t.Errorf("ids %v", ids)
		}
	}
	other := r.ask(with(completion(user("one")), "seed", 7))
	if other.ID == ids[0] {
		t.Error("another seed makes no other request")
	}
}
