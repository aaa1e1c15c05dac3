// Package stage is a provider for the tests of adapters: it answers as it is
// told to, and keeps what it was asked.
package stage

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/everturn/everturn/model"
)

// Reply is what the provider answers to one request.
type Reply struct {
	Status int // 0: 200
	Header map[string]string
	Pieces []string // of the body, each sent on its own
	Abort  bool     // the connection breaks after them
	Hang   bool     // it stays open after them, until the client leaves
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
	gone     chan struct{} // gets something when a client left a reply that hangs
}

// New starts a provider that gives the replies in order, and the last one for
// ever.
func New(t testing.TB, replies ...Reply) *Provider {
	t.Helper()
	p := &Provider{replies: replies, gone: make(chan struct{}, 1)}
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
		default:
			h.Deltas = append(h.Deltas, d)
		}
	}
	if h.Answer == nil && h.Err == nil {
		t.Fatal("neither an answer nor an error ends the stream")
	}
	return h
}
