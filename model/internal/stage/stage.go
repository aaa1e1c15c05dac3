// Package stage is a provider for the tests of adapters: it answers as it is
// told to, and keeps what it was asked.
package stage

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
)

// Reply is what the provider answers to one request.
type Reply struct {
	Status int // 0: 200
	Header map[string]string
	Pieces []string // of the body, each sent on its own
	Abort  bool     // the connection breaks after them
	Hang   bool     // it stays open after them, until the client leaves
	Mute   bool     // nothing is answered at all, until the client leaves
}

// Request is what the provider was asked.
type Request struct {
	From   string // who asked: another connection is another place
	Path   string
	Header http.Header
	Body   string
}

// Provider is a server. It ends with its test.
type Provider struct {
	URL string

	mu       sync.Mutex
	replies  []Reply
	requests []Request
	asked    chan struct{} // gets something when a request has come
	gone     chan struct{} // gets something when a client left a reply that hangs
}

// New starts a provider that gives the replies in order, and the last one for
// ever.
func New(t testing.TB, replies ...Reply) *Provider {
	t.Helper()
	p := &Provider{replies: replies, asked: make(chan struct{}, 1), gone: make(chan struct{}, 1)}
	server := httptest.NewServer(p)
	t.Cleanup(server.Close)
	p.URL = server.URL
	return p
}

// Requests are the requests so far.
func (p *Provider) Requests() []Request {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]Request(nil), p.requests...)
}

// Asked is told when a request has come.
func (p *Provider) Asked() <-chan struct{} { return p.asked }

// Gone is told when a client has left a reply that hangs.
func (p *Provider) Gone() <-chan struct{} { return p.gone }

func (p *Provider) next(r Request) Reply {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.requests = append(p.requests, r)
	reply := p.replies[0]
	if len(p.replies) > 1 {
		p.replies = p.replies[1:]
	}
	return reply
}

// ServeHTTP implements [http.Handler].
func (p *Provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return // the client has left
	}
	reply := p.next(Request{From: r.RemoteAddr, Path: r.URL.Path, Header: r.Header.Clone(), Body: string(body)})
	select {
	case p.asked <- struct{}{}:
	default: // nobody wants to know
	}
	if reply.Mute {
		<-r.Context().Done()
		p.gone <- struct{}{}
		return
	}
	if reply.Status == 0 {
		reply.Status = http.StatusOK
		w.Header().Set("Content-Type", "text/event-stream")
	}
	for name, value := range reply.Header {
		w.Header().Set(name, value)
	}
	w.WriteHeader(reply.Status)
	flush := http.NewResponseController(w).Flush
	for _, piece := range reply.Pieces {
		if _, err := io.WriteString(w, piece); err != nil || flush() != nil {
			break
		}
	}
	switch {
	case reply.Abort:
		panic(http.ErrAbortHandler)
	case reply.Hang:
		_ = flush() // so that the header is out, too
		<-r.Context().Done()
		p.gone <- struct{}{}
	}
}

// mark says where a provider may keep what it has read.
const mark = `,"cache_control":{"type":"ephemeral"}`

// raw is the part of the body that a provider's cache goes by, field by field,
// as it was sent, but without marks.
func (r Request) raw(t testing.TB) map[string]string {
	t.Helper()
	var body map[string]json.RawMessage
	if err := json.Unmarshal([]byte(r.Body), &body); err != nil {
		t.Fatal(err)
	}
	fields := make(map[string]string)
	for _, field := range []string{"model", "system", "tools", "messages"} {
		fields[field] = strings.ReplaceAll(string(body[field]), mark, "")
	}
	return fields
}

// Sent is one field of the n-th request, as loose values; of the last with -1.
func (p *Provider) Sent(t testing.TB, n int, field string) any {
	t.Helper()
	list := p.Requests()
	if n < 0 {
		n += len(list)
	}
	body, ok := Tree(t, list[n].Body).(map[string]any)
	if !ok {
		t.Fatalf("no object: %s", list[n].Body)
	}
	return body[field]
}

// Tree is JSON as loose values.
func Tree(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
	return v
}

// Result is a message with the result of one call.
func Result(call, name, text string) model.Message {
	return model.Message{Role: model.RoleTool, Results: []model.Result{{WireID: call, Name: name, Parts: []events.Part{events.Text(text)}}}}
}

// Events is a stream of events without names.
func Events(data ...string) string {
	var b strings.Builder
	for _, d := range data {
		b.WriteString("data: " + d + "\n\n")
	}
	return b.String()
}

// Heard is everything that a model yielded.
type Heard struct {
	Deltas []model.Delta
	Answer *model.Answer
	Err    *model.Error
}

// Hear hears a model out, and fails the test if it breaks the rules of the port.
func Hear(ctx context.Context, t testing.TB, m model.Model, r model.Request) Heard {
	t.Helper()
	var h Heard
	for d, err := range m.Stream(ctx, r) {
		switch {
		case h.Answer != nil || h.Err != nil:
			t.Fatal("something follows the end")
		case err != nil:
			known, ok := errors.AsType[*model.Error](err)
			if !ok {
				t.Fatalf("an error without a class: %v", err)
			}
			h.Err = known
		case d.Answer != nil:
			h.Answer = d.Answer
		case d.Text != "": // else it is a sign of life
			h.Deltas = append(h.Deltas, d)
		}
	}
	if h.Answer == nil && h.Err == nil {
		t.Fatal("neither an answer nor an error ends the stream")
	}
	return h
}
