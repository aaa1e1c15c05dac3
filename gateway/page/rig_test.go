package page

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// rig is a page over chats that say what a test wants.
type rig struct {
	t      *testing.T
	url    string
	events chan watch.Event // that watchers are told

	mu       sync.Mutex
	page     transcript.Page
	answers  map[string]any // of other queries
	commands []sentCommand
	reply    protocol.Reply
	no       error
}

type sentCommand struct {
	Key  events.Key
	ID   string
	Body protocol.Body
}

func newRig(t *testing.T) *rig {
	t.Helper()
	r := &rig{t: t, events: make(chan watch.Event, 16), answers: make(map[string]any), reply: protocol.Reply{OK: true}}
	p, err := New(Config{Chats: r, Watch: func(context.Context, events.Key, uint64) (Watcher, error) { return r, nil }})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.Header.Get("Test-Nobody") == "" {
			req = req.WithContext(identity.With(req.Context(), identity.Identity{Tenant: "acme", By: "user:ann"}))
		}
		p.ServeHTTP(w, req)
	}))
	t.Cleanup(server.Close)
	r.url = server.URL
	return r
}

// Command implements [Chats].
func (r *rig) Command(_ context.Context, k events.Key, _, id string, body protocol.Body) (protocol.Reply, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.no == nil {
		r.commands = append(r.commands, sentCommand{Key: k, ID: id, Body: body})
	}
	return r.reply, r.no
}

// Query implements [Chats].
func (r *rig) Query(_ context.Context, _, name string, question, answer any) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	given := r.answers[name]
	switch name {
	case transcript.QueryPage:
		asked := question.(transcript.Request)
		page := r.page
		page.Messages = nil
		for _, m := range r.page.Messages {
			if len(page.Messages) == asked.Limit {
				page.Next = page.Messages[asked.Limit-1].N
				break
			}
			if m.N > asked.After {
				page.Messages = append(page.Messages, m)
			}
		}
		given = page
	case transcript.QueryHead:
		given = r.page.Head
	}
	if given == nil {
		return gateway.ErrUnavailable
	}
	b, err := json.Marshal(given)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, answer)
}

// Download implements [Chats].
func (r *rig) Download(context.Context, events.Key, events.Digest) ([]byte, error) {
	return []byte("<script>alert(1)</script>"), nil
}

// Next implements [Watcher].
func (r *rig) Next(ctx context.Context) (watch.Event, error) {
	select {
	case e := <-r.events:
		return e, nil
	case <-ctx.Done():
		return watch.Event{}, ctx.Err()
	}
}

// Close implements [Watcher].
func (r *rig) Close() {}

// shows changes what the transcript says, and tells of the commit.
func (r *rig) shows(p transcript.Page) {
	r.mu.Lock()
	r.page = p
	r.mu.Unlock()
	r.events <- watch.Event{Kind: watch.KindCommit, Rev: p.Rev}
}

func (r *rig) do(req *http.Request) (*http.Response, string) {
	r.t.Helper()
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, string(b)
}

func (r *rig) get(path string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	return r.do(req)
}

func (r *rig) post(path string, form url.Values) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodPost, r.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		r.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return r.do(req)
}

// heard is an event of the stream.
type heard struct{ id, name, data string }

// stream opens the live stream, and gives a function that waits for its next event.
func (r *rig) stream(path, lastID string) func() heard {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), http.MethodGet, r.url+path, nil)
	if err != nil {
		r.t.Fatal(err)
	}
	if lastID != "" {
		req.Header.Set("Last-Event-ID", lastID)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = resp.Body.Close() })
	if kind := resp.Header.Get("Content-Type"); kind != "text/event-stream" {
		r.t.Fatalf("the stream is %q", kind)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 8<<20)
	return func() heard {
		r.t.Helper()
		var h heard
		var data strings.Builder // an event may have a hundred thousand lines
		for lines.Scan() {
			field, value, _ := strings.Cut(lines.Text(), ": ")
			switch field {
			case "":
				h.data = data.String()
				return h
			case "id":
				h.id = value
			case "event":
				h.name = value
			case "data":
				data.WriteString(value + "\n")
			}
		}
		r.t.Fatal("the stream has ended")
		return h
	}
}

// said is a transcript in which a turn runs, with these messages.
func saidPage(rev uint64, status transcript.Status, texts ...string) transcript.Page {
	p := transcript.Page{Head: transcript.Head{Chat: "c1", Rev: rev, At: 1, Title: "T", Status: status, MessageCount: len(texts)}}
	for i, text := range texts {
		m := transcript.Message{N: i + 1, Rev: rev, At: 1, Turn: i/2 + 1, Role: transcript.RoleUser, Parts: []transcript.Part{{Part: events.Text(text)}}}
		if i%2 == 1 {
			m.Role = transcript.RoleAssistant
		}
		p.Messages = append(p.Messages, m)
	}
	return p
}
