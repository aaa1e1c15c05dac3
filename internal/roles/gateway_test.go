package roles

import (
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/streams"
)

// A gateway can do all that it does with its own credentials, and tokens are made with
// those of an operator.
func TestAGatewayNeedsNoOtherRights(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	i := install(t, installation)
	i.apply("operator")
	i.runParts(ctx, make(chan struct{}), make(chan struct{}))

	store, err := streams.OpenTokens(i.connect("operator"), streams.Options{})
	i.must(err)
	defer store.Close()
	token := streams.NewToken()
	i.must(store.Put(ctx, streams.HashToken(token), streams.Token{Tenant: acme, Name: "ci"}))

	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	i.must(err)
	running, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	var cfg readside.GatewayConfig
	cfg.Listener = listener
	nc := i.connect("gateway")
	go func() { ended <- readside.RunGateway(running, nc, cfg) }()
	defer func() { stop(); i.must(<-ended) }()

	ask := func(method, path, body string) (int, string) {
		r, err := http.NewRequestWithContext(ctx, method, "http://"+listener.Addr().String()+path, strings.NewReader(body))
		i.must(err)
		r.Header.Set("Authorization", "Bearer "+token)
		r.Header.Set("Content-Type", "application/json")
		answer, err := http.DefaultClient.Do(r)
		i.must(err)
		defer answer.Body.Close()
		var content []byte
		if strings.HasSuffix(path, "/events") {
			content = make([]byte, len("id: "))
			_, err = io.ReadFull(answer.Body, content)
		} else {
			content, err = io.ReadAll(answer.Body)
		}
		i.must(err)
		return answer.StatusCode, string(content)
	}
	for {
		status, said := ask("GET", "/readyz", "")
		if status == http.StatusOK {
			break
		}
		if ctx.Err() != nil {
			t.Fatalf("it is not ready: %s", said)
		}
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
	content := string(events.DigestOf([]byte("bytes")))
	for _, step := range []struct {
		method, path, body string
		status             int
	}{
		{"POST", "/v1/chats/over-http/create", "{}", http.StatusCreated},
		{"PUT", "/v1/chats/over-http/content", "bytes", http.StatusOK},
		{"GET", "/v1/chats/over-http/content/" + content, "", http.StatusOK},
		{"POST", "/v1/chats/over-http/rename", `{"title":"x"}`, http.StatusOK},
		{"GET", "/v1/chats/over-http/transcript", "", http.StatusOK},
		{"GET", "/v1/chats/over-http/events", "", http.StatusOK},
		{"GET", "/v1/models", "", http.StatusOK},
	} {
		if status, said := ask(step.method, step.path, step.body); status != step.status {
			t.Errorf("%s %s is answered %d %s", step.method, step.path, status, said)
		}
	}
	if err := nc.LastError(); err != nil {
		t.Errorf("the server has refused something: %v", err)
	}
}
