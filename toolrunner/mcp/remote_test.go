package mcp_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
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
	// discover is what it says of itself to who asks in the new way; empty if it cannot.
	discover string
	listen   http.HandlerFunc
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
		if f.discover != "" {
			f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":`+f.discover+`}`, m.ID)
			return
		}
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"error":{"code":-32601,"message":"method not found"}}`, m.ID)
	case "initialize":
		f.mu.Lock()
		f.sessions++
		f.mu.Unlock()
		w.Header().Set("Mcp-Session-Id", f.session())
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"far","version":"1"}}}`, m.ID)
	case "tools/list":
		f.answer(w, `{"jsonrpc":"2.0","id":%s,"result":{"tools":[{"name":"one","inputSchema":{"type":"object"}},{"name":"two","inputSchema":{"type":"object"}}]}}`, m.ID)
	case "subscriptions/listen":
		f.listen(w, r)
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

// A server may send us on within its host, but not for ever.
func TestAServerThatSendsUsOnAndOnIsGivenUp(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	loop := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked.Add(1)
		http.Redirect(w, r, "/mcp", http.StatusTemporaryRedirect)
	}))
	t.Cleanup(loop.Close)
	times := quick()
	times.Restart = time.Hour
	r := serve(t, times, map[string]entry{"far": {"url": loop.URL + "/mcp"}})
	r.wait("it is given up", func() bool { return strings.Contains(r.log.String(), "on and on") })
	if n := asked.Load(); n > 100 {
		t.Errorf("asked %d times", n)
	}
}

// Headers are for one host. Another one, which the server names, is not asked.
func TestHeadersAreNotTakenElsewhere(t *testing.T) {
	t.Parallel()
	var asked atomic.Int64
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { asked.Add(1) }))
	t.Cleanup(other.Close)
	first := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL+"/?token="+r.Header.Get("Authorization"), http.StatusTemporaryRedirect)
	}))
	t.Cleanup(first.Close)
	r := serve(t, quick(), map[string]entry{"far": {"url": first.URL, "headers": map[string]string{"Authorization": "Bearer ${TOKEN}"}}})
	r.wait("it is told of", func() bool { return strings.Contains(r.log.String(), "where we do not go") })
	if asked.Load() != 0 {
		t.Error("the other host was asked")
	}
	if strings.Contains(r.log.String(), "value-of-TOKEN") {
		t.Error("the header is in the log")
	}
}

// A server that takes a question for its news and does not answer holds up nobody: not
// its own start for ever, and not our end, which the end of the test waits for.
func TestAServerThatStallsWhatNobodyWaitsFor(t *testing.T) {
	t.Parallel()
	f := newRemoteFake(t)
	stalled := make(chan struct{}, 16)
	f.discover = `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"far","version":"1"},"protocolVersion":"2026-07-28"}`
	f.listen = func(_ http.ResponseWriter, r *http.Request) {
		stalled <- struct{}{}
		<-r.Context().Done()
	}
	serve(t, quick(), f.entry())
	select {
	case <-stalled:
	case <-time.After(patience):
		t.Fatal("nobody listens to its news")
	}
}
