package readside_test

import (
	"net/http"
	"strconv"
	"testing"
	"time"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol/transcript"
)

func TestOpenTurnsOfATenantAreCountedWhoeverHasBegunThem(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	cfg := readside.GatewayConfig{Quotas: gateway.Quotas{OpenTurns: 2}}
	first, _ := h.gate(cfg)
	token, other := h.token("acme", "token", ""), h.token("globex", "token", "")
	counts := func(url string) {
		t.Helper()
		h.until("the tokens count", func() bool {
			return h.ask(token, "GET", url+"/v1/chats/x", "").status == 404 && h.ask(other, "GET", url+"/v1/chats/x", "").status == 404
		})
	}
	counts(first)
	say := func(url, token, chat, text string) said {
		t.Helper()
		h.ask(token, "POST", url+"/v1/chats/"+chat+"/create", "")
		return h.ask(token, "POST", url+"/v1/chats/"+chat+"/send", `{"parts":[{"type":"text","text":"`+text+`"}]}`)
	}
	if _, err := h.bus("acme").Ensure(t.Context(), "by-bus"); err != nil {
		t.Fatal(err)
	}
	if _, err := h.bus("acme").Send(t.Context(), "by-bus", "wait"); err != nil {
		t.Fatal(err)
	}
	if got := say(first, token, "one", "wait"); got.status != http.StatusOK {
		t.Fatalf("the second turn is answered %d %s", got.status, got.body)
	}
	p := say(first, token, "two", "wait")
	p.refuses(t, http.StatusTooManyRequests, problem.CodeTooMany)
	if after, err := strconv.Atoi(p.header.Get("Retry-After")); err != nil || after < 1 {
		t.Errorf("nothing says when to ask again: %v", p.header)
	}
	if got := say(first, other, "two", "wait"); got.status != http.StatusOK {
		t.Errorf("another tenant is answered %d %s", got.status, got.body)
	}
	if got := say(first, token, "one", "and then"); got.status != http.StatusOK {
		t.Errorf("what waits in a chat that works is answered %d %s", got.status, got.body)
	}
	second, _ := h.gate(cfg) // it was not there when the turns began
	counts(second)
	say(second, token, "three", "wait").refuses(t, http.StatusTooManyRequests, problem.CodeTooMany)
	if got := h.ask(token, "POST", second+"/v1/chats/one/interrupt", "{}"); got.status != http.StatusOK {
		t.Errorf("a stop is answered %d %s", got.status, got.body)
	}
	h.until("the turn is over, and another one may begin", func() bool {
		return say(second, token, "three", "hello").status == http.StatusOK
	})
}

// What was done long ago is told of by no commit that is still to come.
func TestACommandThatComesAgainTakesNoOpenTurn(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{Quotas: gateway.Quotas{OpenTurns: 1}})
	token := h.token("acme", "token", "")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/x", "").status == http.StatusNotFound })
	say := func(chat string) said {
		t.Helper()
		h.ask(token, "POST", url+"/v1/chats/"+chat+"/create", "")
		return h.ask(token, "POST", url+"/v1/chats/"+chat+"/send", `{"parts":[{"type":"text","text":"hello"}]}`, "Idempotency-Key", "once")
	}
	for _, chat := range []string{"one", "two"} {
		h.until("there is room", func() bool { return say(chat).status == http.StatusOK })
		h.until("its turn is over", func() bool {
			return into[transcript.Head](t, h.ask(token, "GET", url+"/v1/chats/"+chat, "")).Status == transcript.StatusIdle
		})
		h.until("it is done again", func() bool { return say(chat).status == http.StatusOK })
	}
}

func TestCommandsASecondAndWatchersOfATenantAreBounded(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, _ := h.gate(readside.GatewayConfig{Quotas: gateway.Quotas{Commands: 2, Watchers: 1}})
	token, other := h.token("acme", "token", ""), h.token("globex", "token", "")
	h.until("the tokens count", func() bool {
		return h.ask(token, "GET", url+"/v1/chats/x", "").status == 404 && h.ask(other, "GET", url+"/v1/chats/x", "").status == 404
	})
	first := h.ask(token, "POST", url+"/v1/chats/watched/create", "")
	if first.status != http.StatusCreated || first.header.Get("RateLimit-Limit") != "4" || first.header.Get("RateLimit-Remaining") != "3" {
		t.Errorf("the first command is answered %d %v", first.status, first.header)
	}
	var over said
	h.until("it was too much", func() bool {
		over = h.ask(token, "POST", url+"/v1/chats", "")
		return over.status != http.StatusCreated
	})
	over.refuses(t, http.StatusTooManyRequests, problem.CodeTooMany)
	if over.header.Get("Retry-After") != "1" || over.header.Get("RateLimit-Remaining") != "0" {
		t.Errorf("the header of a no is %v", over.header)
	}
	if got := h.ask(other, "POST", url+"/v1/chats", ""); got.status != http.StatusCreated {
		t.Errorf("another tenant is answered %d %s", got.status, got.body)
	}
	h.until("there may be more", func() bool { return h.ask(token, "POST", url+"/v1/chats", "").status == http.StatusCreated })

	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/chats/watched/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	watching, err := http.DefaultClient.Do(r)
	if err != nil || watching.StatusCode != http.StatusOK {
		t.Fatalf("the first watcher gets %v, %v", watching, err)
	}
	h.ask(token, "GET", url+"/v1/chats/watched/events", "").refuses(t, http.StatusTooManyRequests, problem.CodeTooMany)
	_ = watching.Body.Close() // it leaves
	h.until("there is room for another", func() bool {
		again := h.ask(token, "GET", url+"/v1/chats/none/events", "")
		return again.status == http.StatusNotFound
	})
}

func TestAGatewayThatStopsFinishesWhatItHasInHand(t *testing.T) {
	t.Parallel()
	h := build(t, 0)
	url, stop := h.gate(readside.GatewayConfig{})
	token := h.token("acme", "token", "")
	h.until("the token counts", func() bool { return h.ask(token, "GET", url+"/v1/chats/x", "").status == http.StatusNotFound })
	h.ask(token, "POST", url+"/v1/chats/watched/create", "")
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url+"/v1/chats/watched/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer "+token)
	watching, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer watching.Body.Close()
	begun := time.Now()
	stop()
	if took := time.Since(begun); took > gateway.DefaultStopWait/2 {
		t.Errorf("a watcher has held up the end for %v", took)
	}
	again, _ := h.gate(readside.GatewayConfig{})
	h.until("the next one goes on", func() bool {
		answer := h.ask(token, "GET", again+"/v1/chats/watched", "")
		return answer.status == http.StatusOK && into[transcript.Head](t, answer).Chat == "watched"
	})
}
