package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/protocol"
)

// tooLong is longer than anything here may take.
const tooLong = 20 * time.Second

// undecided are chats in which nobody decides anything.
type undecided struct{ Chats }

func (undecided) Command(ctx context.Context, _ events.Key, _, _ string, _ protocol.Body) (protocol.Reply, error) {
	<-ctx.Done()
	if err := ctx.Err(); !errors.Is(err, context.DeadlineExceeded) {
		return protocol.Reply{}, err
	}
	return protocol.Reply{}, ErrUndecided
}

// served starts a gateway and gives its address.
func served(t *testing.T, cfg Config) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	cfg.Listener, cfg.StopWait = listener, 10*time.Millisecond
	cfg.Tokens = known{"evt_acme": {Tenant: "acme"}}
	if cfg.Chats == nil {
		cfg.Chats = Limit(undecided{}, Quotas{}, nil)
	}
	g, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() { _ = g.Run(ctx) }) // how it ends is not what is asked here
	t.Cleanup(func() { stop(); running.Wait() })
	return listener.Addr().String()
}

// dial connects as a client that does what it likes.
func dial(t *testing.T, address string) net.Conn {
	t.Helper()
	c, err := (&net.Dialer{}).DialContext(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	if err := c.SetDeadline(time.Now().Add(tooLong)); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestABodyThatNeverComesHoldsNothing(t *testing.T) {
	t.Parallel()
	address := served(t, Config{
		BodyWait: 50 * time.Millisecond,
		Ways: []Way{{Pattern: "POST /v1/test", Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			_, _ = io.ReadAll(r.Body)
		})}},
	})
	for _, tt := range []struct{ name, path, header string }{
		{"of who is turned away", "/v1/chats", ""},
		{"of a form to log in", "/login", "Content-Type: application/x-www-form-urlencoded\r\n"},
		{"of a command", "/v1/chats/oslo/send", "Authorization: Bearer evt_acme\r\nContent-Type: application/json\r\n"},
		{"of any way in", "/v1/test", "Authorization: Bearer evt_acme\r\n"},
		{"of an address that is none", "/nowhere", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c := dial(t, address)
			fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: chats.example\r\n%sContent-Length: 100\r\n\r\n{", tt.path, tt.header)
			answer, err := io.ReadAll(c)
			if err != nil {
				t.Errorf("the connection is still there: %v, after %q", err, answer)
			}
		})
	}
}

func TestACommandMayBeDecidedLaterThanItsBodyMayArrive(t *testing.T) {
	t.Parallel()
	address := served(t, Config{BodyWait: 20 * time.Millisecond, CommandWait: 300 * time.Millisecond})
	for _, tt := range []struct{ name, verb, body string }{
		{"with a body", "send", `{"parts":[{"type":"text","text":"hello"}]}`},
		{"without one", "interrupt", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+address+"/v1/chats/oslo/"+tt.verb, strings.NewReader(tt.body))
			if err != nil {
				t.Fatal(err)
			}
			r.Header.Set("Authorization", "Bearer evt_acme")
			r.Header.Set("Content-Type", "application/json")
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatal(err)
			}
			defer answer.Body.Close()
			if body, _ := io.ReadAll(answer.Body); answer.StatusCode != http.StatusAccepted {
				t.Errorf("answered %d %s, want %d: it is stored", answer.StatusCode, body, http.StatusAccepted)
			}
		})
	}
}

func TestWhoDoesNotReadAnAnswerIsLetGo(t *testing.T) {
	t.Parallel()
	ended := make(chan struct{})
	address := served(t, Config{
		AnswerWait: 50 * time.Millisecond,
		Ways: []Way{{Pattern: "GET /v1/test", Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, ok := identity.Of(r.Context()); !ok {
				return
			}
			for {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					close(ended)
					return
				}
			}
		})}},
	})
	c := dial(t, address)
	fmt.Fprint(c, "GET /v1/test HTTP/1.1\r\nHost: chats.example\r\nAuthorization: Bearer evt_acme\r\n\r\n")
	select {
	case <-ended:
	case <-time.After(tooLong):
		t.Error("the answer is still being written")
	}
}

func TestBodiesOfATenantTakeNoMoreMemoryThanIsAllowed(t *testing.T) {
	t.Parallel()
	const large = maxBodiesBytes/2 + 1
	begun, taken := make(chan struct{}), make(chan struct{})
	address := served(t, Config{BodyWait: 50 * time.Millisecond, Ways: []Way{
		{Pattern: "POST /v1/large", MaxBodyBytes: large, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			begun <- struct{}{}
			<-taken
			_ = r.Body.Close()
			begun <- struct{}{}
			<-r.Context().Done()
		})},
		{Pattern: "POST /v1/other", MaxBodyBytes: large, Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(http.StatusTeapot)
		})},
	}})
	send := func(path, length string) string {
		t.Helper()
		c := dial(t, address)
		fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: chats.example\r\nAuthorization: Bearer evt_acme\r\n%s\r\n\r\n", path, length)
		if path == "/v1/large" {
			return ""
		}
		status := make([]byte, len("HTTP/1.1 200"))
		if _, err := io.ReadFull(c, status); err != nil {
			t.Fatal(err)
		}
		return string(status)
	}
	known, unknown := fmt.Sprintf("Content-Length: %d", large), "Transfer-Encoding: chunked"
	send("/v1/large", known)
	<-begun
	for _, length := range []string{known, unknown} {
		if got := send("/v1/other", length); got != "HTTP/1.1 429" {
			t.Errorf("with %s a second large one is answered %s", length, got)
		}
	}
	if got := send("/v1/other", "Content-Length: 1"); got != "HTTP/1.1 418" {
		t.Errorf("a small one is answered %s", got)
	}
	taken <- struct{}{}
	<-begun
	for _, length := range []string{known, unknown} {
		if got := send("/v1/other", length); got != "HTTP/1.1 418" {
			t.Errorf("with %s one is answered %s when there is room again", length, got)
		}
	}
}

// Beside a laptop that needs no token a session may end, too.
func TestWhoWatchesIsShutOutWhenTheRequestWouldBeSomebodyElses(t *testing.T) {
	t.Parallel()
	tokens := known{"evt_acme": {Tenant: "acme"}}
	g := Gateway{door: door{tokens: tokens, local: identity.Identity{Tenant: "default"}}}
	r := request(t, "127.0.0.1:40000", "localhost:8080", "Cookie", sessionCookie+"=evt_acme")
	as, no := g.door.who(r)
	if no != nil || as.Tenant != "acme" {
		t.Fatalf("it is %v, %v", as, no)
	}
	delete(tokens, "evt_acme")
	ctx, end := context.WithTimeout(t.Context(), tooLong)
	g.whileWelcome(ctx, end, as, r)
	if !errors.Is(ctx.Err(), context.Canceled) {
		t.Error("it goes on with what another tenant has")
	}
}

// A server takes GET for HEAD, too, and sends nothing of what a handler then writes.
func TestNobodyWatchesByHead(t *testing.T) {
	t.Parallel()
	address := served(t, Config{Ways: []Way{{Pattern: "GET /v1/test", Watches: true, Handler: http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })}}})
	c := dial(t, address)
	fmt.Fprint(c, "HEAD /v1/test HTTP/1.1\r\nHost: chats.example\r\nAuthorization: Bearer evt_acme\r\n\r\n")
	status := make([]byte, len("HTTP/1.1 200"))
	if _, err := io.ReadFull(c, status); err != nil || string(status) != "HTTP/1.1 405" {
		t.Errorf("answered %q, %v", status, err)
	}
}

func TestAnAnswerThatBreaksOffIsNotTakenForAWholeOne(t *testing.T) {
	t.Parallel()
	address := served(t, Config{Ways: []Way{{Pattern: "GET /v1/test", Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "some")
		panic("test")
	})}}})
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+"/v1/test", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Authorization", "Bearer evt_acme")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return // it was not even begun
	}
	defer answer.Body.Close()
	if body, err := io.ReadAll(answer.Body); err == nil {
		t.Errorf("answered %q, as if that were all", body)
	}
}
