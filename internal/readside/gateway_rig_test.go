package readside_test

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
)

// answers is what the model of these tests says.
const answers = `
rules:
  - when: {input: wait}
    answer: [{text: "one moment "}, {pause: 10m}, {text: never}]
  - when: {input: long}
    answer: [{pause: 1s}, {text: done}]
  - when: {input: heavy}
    answer: [{pause: 3s}, {text: done}]
  - answer: [{text: "you said: {{input}}"}]
`

// patience is longer than anything takes that these tests wait for.
const patience = 30 * time.Second

// house is a server with every part, and gateways before it.
type house struct {
	*testing.T
	server *embedded.Server
	tokens *streams.Tokens
}

// build starts a house. Slots is how many models are asked at a time; 0: as usual.
func build(t *testing.T, slots int) *house {
	t.Helper()
	h := &house{T: t, server: embeddedtest.Start(t, embedded.Options{})}
	scripted, err := script.Parse("answers", []byte(answers))
	if err != nil {
		t.Fatal(err)
	}
	ready := make(chan struct{})
	h.start(func(ctx context.Context, nc *nats.Conn) error {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		if slots > 0 {
			cfg.Pools = map[string]int{"default": slots}
		}
		find := func(string) (model.Model, bool) { return scripted, true }
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, find, func() { close(ready) })
	})
	<-ready
	h.start(func(ctx context.Context, nc *nats.Conn) error {
		return readside.RunProjections(ctx, nc, readside.Projections{Version: "0.0.0", Log: slog.New(slog.DiscardHandler), Store: t.TempDir()})
	})
	if h.tokens, err = streams.OpenTokens(h.connect(), streams.Options{}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.tokens.Close)
	return h
}

func (h *house) connect() *nats.Conn {
	h.Helper()
	nc, err := h.server.Connect("test")
	if err != nil {
		h.Fatal(err)
	}
	h.Cleanup(nc.Close)
	return nc
}

func (h *house) start(part func(context.Context, *nats.Conn) error) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	nc := h.connect()
	var running sync.WaitGroup
	running.Go(func() {
		if err := part(ctx, nc); err != nil {
			h.Error(err)
		}
	})
	stop = sync.OnceFunc(func() { cancel(); running.Wait() })
	h.Cleanup(stop)
	return stop
}

// gate starts a gateway and gives its address, and what stops it.
func (h *house) gate(cfg readside.GatewayConfig) (url string, stop func()) {
	h.Helper()
	listener, err := (&net.ListenConfig{}).Listen(h.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.Fatal(err)
	}
	cfg.Listener, url = listener, "http://"+listener.Addr().String()
	stop = h.start(func(ctx context.Context, nc *nats.Conn) error { return readside.RunGateway(ctx, nc, cfg) })
	h.until("the gateway is ready", func() bool { return h.ask("", "GET", url+"/readyz", "").status == http.StatusOK })
	return url, stop
}

// token makes a token.
func (h *house) token(tenant, name, by string) string {
	h.Helper()
	token := streams.NewToken()
	if err := h.tokens.Put(h.Context(), streams.HashToken(token), streams.Token{Tenant: tenant, Name: name, By: by}); err != nil {
		h.Fatal(err)
	}
	return token
}

// bus is the Go client of a tenant.
func (h *house) bus(tenant string) *client.Client { return client.New(h.connect(), tenant, "user:bus") }

// said is what a gateway has answered.
type said struct {
	status int
	header http.Header
	body   string
}

// into decodes the answer.
func into[T any](t *testing.T, s said) T {
	t.Helper()
	var v T
	if err := json.Unmarshal([]byte(s.body), &v); err != nil {
		t.Fatalf("%d %s: %v", s.status, s.body, err)
	}
	return v
}

// ask sends a request with a token, a body that is JSON if there is one, and headers
// given as name and value.
func (h *house) ask(token, method, url, body string, header ...string) said {
	h.Helper()
	r, err := http.NewRequestWithContext(h.Context(), method, url, strings.NewReader(body))
	if err != nil {
		h.Fatal(err)
	}
	if body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	if token != "" {
		r.Header.Set("Authorization", "Bearer "+token)
	}
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
		if header[i] == "Host" {
			r.Host = header[i+1]
		}
	}
	answer, err := (&http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}).Do(r)
	if err != nil {
		h.Fatal(err)
	}
	defer answer.Body.Close()
	content, err := io.ReadAll(answer.Body)
	if err != nil {
		h.Fatal(err)
	}
	return said{answer.StatusCode, answer.Header, string(bytes.TrimSpace(content))}
}

// until asks a question until the answer is yes.
func (h *house) until(what string, ask func() bool) {
	h.Helper()
	late := time.After(patience)
	for !ask() {
		select {
		case <-late:
			h.Fatalf("waited in vain until %s", what)
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// refuses fails the test unless the answer is a problem of that status and code.
func (s said) refuses(t *testing.T, status int, code events.Code) {
	t.Helper()
	p := into[problem.Problem](t, s)
	if s.status != status || p.Code != code || p.Status != status || s.header.Get("Content-Type") != problem.ContentType {
		t.Errorf("answered %d, %s: %s; want %d with code %s", s.status, s.header.Get("Content-Type"), s.body, status, code)
	}
}
