package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner"
)

// remoteFake is a server over HTTP by hand.
type remoteFake struct {
	*httptest.Server

	mu       sync.Mutex
	sessions int
	calls    []string // the tools that were called

	// call answers a call; it may do what it likes with the connection.
	call func(w http.ResponseWriter, r *http.Request, id json.RawMessage, tool string)
	// get answers a stream that is taken up again.
	get http.HandlerFunc
}

func newRemoteFake(t *testing.T) *remoteFake {
	t.Helper()
	f := &remoteFake{}
	f.Server = httptest.NewServer(f)
	t.Cleanup(func() { f.CloseClientConnections(); f.Close() })
	return f
}

func (f *remoteFake) entry() map[string]entry {
	return map[string]entry{"far": {"url": f.URL + "/mcp", "headers": map[string]string{"Authorization": "Bearer ${TOKEN}"}}}
}

func (f *remoteFake) called() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

// session is the newest one.
func (f *remoteFake) session() string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return fmt.Sprint("session-", f.sessions)
}

func (f *remoteFake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodGet && r.Header.Get("Last-Event-ID") != "" && f.get != nil {
		f.get(w, r)
		return
	}
	if r.Method != http.MethodPost {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	var m request
	_ = json.NewDecoder(r.Body).Decode(&m)
	switch m.Method {
	case "server/discover":
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	case "initialize":
		f.mu.Lock()
		f.sessions++
		f.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", f.session())
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}}`, m.ID)
	case "tools/list":
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"one","inputSchema":{"type":"object"}},{"name":"two","inputSchema":{"type":"object"}}]}}`, m.ID)
	case "ping":
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{}}`, m.ID)
	case "tools/call":
		if r.Header.Get("Mcp-Session-Id") != f.session() {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		f.mu.Lock()
		f.calls = append(f.calls, m.Params.Name)
		f.mu.Unlock()
		f.call(w, r, m.ID, m.Params.Name)
	default:
		w.WriteHeader(http.StatusAccepted)
	}
}

func (*remoteFake) answer(w http.ResponseWriter, format string, id json.RawMessage) {
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, format, id)
}

// restart makes all sessions unknown, as that of a server that keeps them in memory does.
func (f *remoteFake) restart() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.sessions++
}

// A server that starts again in the middle of a call knows the session no more. The call
// was sent, and is not sent again.
func TestACallThatWasSentIsNotSentAgainWhenTheSessionIsForgotten(t *testing.T) {
	t.Parallel()
	f := newRemoteFake(t)
	f.call = func(w http.ResponseWriter, _ *http.Request, _ json.RawMessage, _ string) {
		f.restart()
		w.Header().Set("Content-Type", "text/event-stream")
		fmt.Fprint(w, "id: 1\ndata:\n\n") // and then the stream breaks
	}
	f.get = func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNotFound) }
	r := serve(t, quick(), f.entry())
	_, err := r.run("far__one", call(`{}`), patience)
	if !errors.Is(err, toolrunner.ErrOutcomeUnknown) {
		t.Errorf("%v; want that nobody knows", err)
	}
	if n := f.called(); n != 1 {
		t.Errorf("the call was sent %d times", n)
	}
}

// Another call finds out that the session is forgotten: that is sent again, since the
// server refused it, and the one that waits is not.
func TestACallThatFindsTheSessionForgottenIsSentInTheNext(t *testing.T) {
	t.Parallel()
	f := newRemoteFake(t)
	arrived := make(chan struct{}, 4)
	f.call = func(w http.ResponseWriter, r *http.Request, id json.RawMessage, tool string) {
		if tool == "two" {
			f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"done"}]}}`, id)
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush()
		arrived <- struct{}{}
		<-r.Context().Done()
	}
	r := serve(t, quick(), f.entry())
	r.tool("far__one")
	waiting := make(chan error, 1)
	go func() {
		_, err := r.run("far__one", call(`{}`), patience)
		waiting <- err
	}()
	<-arrived
	f.restart()
	r.wantText("far__two", `{}`, "done")
	select {
	case err := <-waiting:
		if !errors.Is(err, toolrunner.ErrOutcomeUnknown) {
			t.Errorf("%v; want that nobody knows", err)
		}
	case <-time.After(pendingMost):
		t.Error("the call that waited waits for ever")
	}
	if n := f.called(); n != 2 {
		t.Errorf("%d calls were sent, want each once", n)
	}
}
