package readside_test

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol/transcript"
)

// slots is how many models are asked at a time in a house where tenants compete.
const slots = 6

// sends is how many one tenant has ready.
const sends = 10_000

// The pool of models is a queue for all. A tenant that may fill only a third of it
// leaves the rest free, however much it sends.
func TestATenantWithThousandsOfSendsSlowsNoOther(t *testing.T) {
	t.Parallel()
	h := build(t, slots)
	url, _ := h.gate(readside.GatewayConfig{Quotas: gateway.Quotas{OpenTurns: slots / 3}})
	greedy := h.token("greedy", "token", "")
	h.until("the token counts", func() bool { return h.ask(greedy, "GET", url+"/v1/chats/x", "").status == http.StatusNotFound })

	alone := h.p99()
	var queue, accepted, refused atomic.Int64
	queue.Store(sends)
	stop := make(chan struct{})
	var senders sync.WaitGroup
	for range 50 {
		senders.Go(func() {
			for n := queue.Add(-1); n >= 0; n = queue.Add(-1) {
				chat := fmt.Sprintf("greedy-%d", n)
				h.ask(greedy, "POST", url+"/v1/chats/"+chat+"/create", "")
				for h.ask(greedy, "POST", url+"/v1/chats/"+chat+"/send", `{"parts":[{"type":"text","text":"short"}]}`).status != http.StatusOK {
					refused.Add(1)
					select {
					case <-stop:
						return
					case <-time.After(100 * time.Millisecond): // sooner than it was told to
					}
				}
				accepted.Add(1)
			}
		})
	}
	beside := h.p99()
	close(stop)
	senders.Wait()
	t.Logf("p99 of a turn of 200 ms: alone %v, beside %d sends that were accepted and %d that were refused %v",
		alone, accepted.Load(), refused.Load(), beside)
	if accepted.Load() < 10 || refused.Load() < 100 || queue.Load() < sends/2 {
		t.Errorf("%d sends were accepted, %d refused, and %d wait: nobody competes", accepted.Load(), refused.Load(), queue.Load())
	}
	// Times depend on what else the machine does; this does not. While a model can be
	// asked at once, nobody waits for another.
	if most := h.asked.most(); most >= slots {
		t.Errorf("%d models were asked at a time, of %d: the other tenant had to wait", most, slots)
	}
}

// p99 is how long turns of 200 ms take, one after the other.
func (h *house) p99() time.Duration {
	h.Helper()
	const turns = 30
	took := make([]time.Duration, turns)
	polite := client.New(h.connect(), "polite", "")
	for i := range took {
		chat, err := polite.Ensure(h.Context(), "")
		if err != nil {
			h.Fatal(err)
		}
		begun := time.Now()
		if _, err := polite.Say(h.Context(), chat, "short", func(client.Sight) {}); err != nil {
			h.Fatal(err)
		}
		took[i] = time.Since(begun)
	}
	slices.Sort(took)
	return took[turns-1]
}

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
