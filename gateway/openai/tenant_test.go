package openai_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/streams"
)

// token makes a token of a tenant, which counts from its return on.
func (r *rig) token(tenant string) string {
	r.Helper()
	store, err := streams.OpenTokens(r.nc, streams.Options{})
	if err != nil {
		r.Fatal(err)
	}
	defer store.Close()
	token := streams.NewToken()
	kept := streams.Token{Tenant: tenant, Name: "test", By: "user:" + tenant, Created: events.At(time.Now())}
	if err := store.Put(r.Context(), streams.HashToken(token), kept); err != nil {
		r.Fatal(err)
	}
	empty := completion() // which is refused, when it is known who asks
	for r.ask(empty, "Authorization", "Bearer "+token).Status != http.StatusBadRequest {
		if r.Context().Err() != nil {
			r.Fatal("the token never counts")
		}
	}
	return token
}

// The same words, the same names, the same ids: nothing of another tenant is seen,
// and nothing is confirmed to be there.
func TestTenantsKnowNothingOfEachOther(t *testing.T) {
	t.Parallel()
	r := start(t, maps)
	acme, globex := r.token("acme"), r.token("globex")
	as := func(token string, body fields, header ...string) answer {
		return r.ask(body, append(header, "Authorization", "Bearer "+token)...)
	}
	first := as(acme, completion(user("hello")), "Everturn-Chat", "oslo")
	other := as(globex, completion(user("hello")), "Everturn-Chat", "oslo")
	if first.Status != http.StatusOK || other.Status != http.StatusOK {
		t.Fatalf("answers %d %+v, %d %+v", first.Status, first.Error, other.Status, other.Error)
	}
	if r.messages("globex", "oslo") != 2 || r.messages("acme", "oslo") != 2 {
		t.Errorf("one chat has both: %+v %+v", first, other)
	}
	left, right := as(acme, completion(user("hi"))), as(globex, completion(user("hi")))
	if left.Chat == right.Chat {
		t.Errorf("both begin in %s", left.Chat)
	}
	on := as(globex, completion(user("hi"), assistant(left.text()), user("and?")), "Everturn-Chat", left.Chat)
	if r.messages("acme", left.Chat) != 2 || on.Status != http.StatusOK {
		t.Errorf("it is said in a chat of another tenant: %+v", on)
	}
	asking := as(acme, with(completion(user("Where?")), "tools", mapTool))
	calls := asking.Choices[0].Message.ToolCalls
	forged := completion(user("Where?"), asked("Look.", calls), result(calls[0], "x"), result(calls[1], "y"))
	if no := as(globex, forged); no.Status != http.StatusNotFound {
		t.Errorf("a call of another tenant: %d %+v", no.Status, no.Error)
	}
	for _, header := range [][]string{{"Authorization", "Bearer evt_wrong"}, {"Authorization", "Basic eDp5"}} {
		no := r.ask(completion(user("x")), header...)
		if no.Status != http.StatusUnauthorized || no.Error == nil || no.Error.Type != "authentication_error" {
			t.Errorf("%s: %d %+v", header[1], no.Status, no.Error)
		}
	}
}

// messages is how many a chat of a tenant has.
func (r *rig) messages(tenant, chat string) int {
	r.Helper()
	page, err := client.New(r.nc, tenant, "").Transcript(r.Context(), chat)
	if err != nil {
		r.Fatal(err)
	}
	return len(page.Messages)
}

// Whoever loses the gateway asks another one.
func TestAnotherGatewayGoesOnWithTheAnswer(t *testing.T) {
	t.Parallel()
	r := start(t, `
rules:
  - when: {input: long}
    answer: [{text: "It begins"}, {pause: 1500ms}, {text: " and ends."}]
`)
	first, stop := r.gateway()
	second := r.url
	r.url = first
	s := r.stream(r.Context(), completion(user("long")), func(s *streamed) bool {
		if s.text == "It begins" {
			go stop()
		}
		return true
	})
	last := s.chunks[len(s.chunks)-1]
	if s.done || last.Error == nil || last.Error.Type != "server_error" || !strings.Contains(last.Error.Message, "ask again") {
		t.Errorf("streamed %+v", s)
	}
	r.url = second
	if a := r.ask(completion(user("long"))); a.text() != "It begins and ends." || r.messages("default", a.Chat) != 2 {
		t.Errorf("answer %+v", a)
	}
}

// A client that waits for the whole is told, too.
func TestAGatewayThatEndsSaysSo(t *testing.T) {
	t.Parallel()
	r := start(t, `
rules:
  - answer: [{pause: 1h}, {text: "never"}]
`)
	url, stop := r.gateway()
	r.url = url
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		response := r.post(r.Context(), completion(user("x")), "Everturn-Chat", "named")
		defer response.Body.Close()
		b, _ := io.ReadAll(response.Body)
		if response.StatusCode != http.StatusServiceUnavailable || response.Header.Get("Retry-After") == "" || !strings.Contains(string(b), "ask again") {
			t.Errorf("status %d: %s", response.StatusCode, b)
		}
	}()
	for attempt := 0; attempt == 0; { // until the model is asked
		if t.Context().Err() != nil {
			t.Fatal("no turn is running")
		}
		if head, err := r.client.Head(t.Context(), "named"); err == nil {
			attempt = head.Attempt
		}
	}
	stop()
	<-ended
}
