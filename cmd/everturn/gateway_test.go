package main

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/streams"
)

// awaitStatus asks a gateway, with a token if there is one, until the status is the one that is
// wanted.
func awaitStatus(t *testing.T, url, token string, want int) string {
	t.Helper()
	for {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(answer.Body)
		_ = answer.Body.Close()
		if err != nil {
			t.Fatal(err)
		}
		if answer.StatusCode == want {
			return string(body)
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestDevAnswersThisMachineOverHTTP(t *testing.T) {
	t.Parallel()
	b := dev(t)
	b.must("send", "--chat", "oslo", "hello")
	if got := awaitStatus(t, b.web+"/v1/chats/oslo", "", http.StatusOK); !strings.Contains(got, `"chat":"oslo"`) {
		t.Errorf("the chat is %s", got)
	}
	awaitStatus(t, b.web+"/v1/chats/none", "", http.StatusNotFound)
}

func TestDevListensWhereItIsToldToOrWhereThereIsRoom(t *testing.T) {
	t.Parallel()
	taken, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer taken.Close()
	address, none := taken.Addr().String(), ""
	if _, err := (gatewayFlags{HTTP: &address}).listen(t.Context()); cli.Code(err) != cli.ExitUsage {
		t.Errorf("a port that is taken is %v", err)
	}
	if l, err := (gatewayFlags{HTTP: &none}).listen(t.Context()); l != nil || err != nil {
		t.Errorf("none is %v, %v", l, err)
	}
	for range 2 { // the second cannot have what the first has
		l, err := (gatewayFlags{}).listen(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = l.Close() })
		if url := webURL(l); !strings.HasPrefix(url, "http://127.0.0.1:") {
			t.Errorf("it listens on %s", url)
		}
	}
}

func TestTokensAreMadeShownAndRevoked(t *testing.T) {
	t.Parallel()
	b := dev(t)
	made := b.must("tokens", "create", "ci", "--for", "service:ci", "--tenant", "acme", "--expires", "1h")
	token := strings.TrimSpace(made.out)
	if streams.HashToken(token) == "" || !strings.Contains(made.err, "not shown again") {
		t.Fatalf("made %q, %q", made.out, made.err)
	}
	awaitStatus(t, b.web+"/v1/chats/none", token, http.StatusNotFound)
	list := b.must("tokens", "list", "--tenant", "acme")
	says(t, "the list", list.out, "NAME", "ci", "service:ci")
	if strings.Contains(list.out, token) {
		t.Errorf("the list shows the token: %s", list.out)
	}
	var one struct{ Name, By, Created, Expires, Token string }
	if err := json.Unmarshal([]byte(b.must("tokens", "list", "--json", "--tenant", "acme").out), &one); err != nil || one.Name != "ci" || one.Expires == "" {
		t.Errorf("listed as JSON: %+v, %v", one, err)
	}
	if other := b.must("tokens", "list"); strings.Contains(other.out, "ci") {
		t.Errorf("another tenant's list has it: %s", other.out)
	}
	b.refused(cli.ExitConflict, "there is a token ci already", "tokens", "create", "ci", "--tenant", "acme")
	b.refused(cli.ExitUsage, "name of a token", "tokens", "create", "Not A Name")
	b.refused(cli.ExitUsage, "--expires", "tokens", "create", "x", "--expires=-1h")
	b.refused(cli.ExitNotFound, "there is no token", "tokens", "revoke", "ci")
	b.must("tokens", "revoke", "ci", "--tenant", "acme")
	awaitStatus(t, b.web+"/v1/chats/none", token, http.StatusUnauthorized)
}

func TestAGatewayRunsBesideAnInstallation(t *testing.T) {
	t.Parallel()
	b := dev(t)
	ctx, stop := context.WithCancel(t.Context())
	read, write := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		s := &surroundings{ctx: ctx, stdout: write, stderr: io.Discard}
		ended <- s.run([]string{"gateway", "--json", "--listen", "127.0.0.1:0", "--server", b.url})
	}()
	var address struct {
		URL string `json:"http_url"`
	}
	if err := json.NewDecoder(read).Decode(&address); err != nil {
		t.Fatal(err)
	}
	awaitStatus(t, address.URL+"/readyz", "", http.StatusOK)
	awaitStatus(t, address.URL+"/v1/chats", "", http.StatusUnauthorized) // this machine is nobody there
	token := strings.TrimSpace(b.must("tokens", "create", "ann").out)
	awaitStatus(t, address.URL+"/v1/chats/none", token, http.StatusNotFound)
	stop()
	if err := <-ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	b.refused(cli.ExitUsage, "--listen", "gateway", "--listen", "nowhere")
}
