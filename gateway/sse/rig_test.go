package sse_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/sse"
	"github.com/everturn/everturn/gateway/watch"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// patience is longer than anything takes that these tests wait for.
const patience = 30 * time.Second

// house is one chat, and a server that gives its events.
type house struct {
	*testing.T
	url string
	hub *watch.Hub

	mu  sync.Mutex
	log [][]byte
	ask int // questions
	on  func(events.Key, protocol.FeedKind, []byte)
}

func newHouse(t *testing.T, h sse.Handler) *house {
	t.Helper()
	s := &house{T: t}
	hub, err := watch.New(watch.Config{Feed: s, Chats: s})
	if err != nil {
		t.Fatal(err)
	}
	s.hub, h.Hub = hub, hub
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := hub.Run(ctx); err != nil {
			t.Error(err)
		}
	})
	mux := http.NewServeMux()
	mux.Handle(sse.Pattern, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if tenant := r.Header.Get("Tenant"); tenant != "" {
			r = r.WithContext(identity.With(r.Context(), identity.Identity{Tenant: tenant}))
		}
		h.ServeHTTP(w, r)
	}))
	server := httptest.NewServer(mux)
	s.url = server.URL
	t.Cleanup(func() {
		cancel() // ends those who watch, so that the server can close
		running.Wait()
		server.Close()
	})
	return s
}

// Follow implements [watch.Feed].
func (s *house) Follow(ctx context.Context, gap func(), on func(events.Key, protocol.FeedKind, []byte)) error {
	s.mu.Lock()
	s.on = on
	s.mu.Unlock()
	gap()
	<-ctx.Done()
	return ctx.Err()
}

// Deltas implements [watch.Feed].
func (*house) Deltas(context.Context, events.Key, events.StepID, int) ([]protocol.Delta, error) {
	return nil, nil
}

// Query implements [watch.Chats].
func (s *house) Query(_ context.Context, tenant, _ string, question, answer any) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ask++
	rev := uint64(len(s.log))
	if tenant != ann.Tenant || rev == 0 {
		return &protocol.RefusedError{Code: events.CodeUnknownChat}
	}
	head := transcript.Head{Chat: ann.Chat, Rev: rev}
	switch answer := answer.(type) {
	case *transcript.Head:
		*answer = head
	case *transcript.Page:
		*answer = transcript.Page{Head: head, Messages: []transcript.Message{}}
	case *transcript.Commits:
		after, bytes := question.(transcript.CommitsRequest).After, 0
		*answer = transcript.Commits{Chat: ann.Chat, Rev: rev}
		for _, body := range s.log[after:] {
			if bytes += len(body); bytes > 768<<10 {
				break
			}
			answer.Commits = append(answer.Commits, append(json.RawMessage{}, body...))
		}
	}
	return nil
}

// store appends commits of a size.
func (s *house) store(n, bytes int) [][]byte {
	s.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	for range n {
		rev, prev := uint64(len(s.log)+1), ""
		if rev > 1 {
			prev = events.Hash(s.log[rev-2])
		}
		body, err := events.Encode(events.Commit{
			ID: fmt.Sprint(rev), Key: ann, Rev: rev, Prev: prev, Events: []events.Event{events.ChatTitled{Title: strings.Repeat("x", bytes)}},
		})
		if err != nil {
			s.Fatal(err)
		}
		s.log = append(s.log, body)
	}
	return s.log[len(s.log)-n:]
}

// say appends a commit and the feed says so.
func (s *house) say(n, bytes int) {
	s.Helper()
	for range n {
		body := s.store(1, bytes)[0]
		s.tell(protocol.FeedCommit, body)
	}
}

func (s *house) tell(kind protocol.FeedKind, body []byte) {
	s.mu.Lock()
	on := s.on
	s.mu.Unlock()
	on(ann, kind, body)
}

// asked is how many questions there were.
func (s *house) asked() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.ask
}

// get asks for events on behalf of a tenant.
func (s *house) get(tenant, query string) *http.Response {
	s.Helper()
	r, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+"/v1/chats/ann/events"+query, nil)
	if err != nil {
		s.Fatal(err)
	}
	if tenant != "" {
		r.Header.Set("Tenant", tenant)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = answer.Body.Close() })
	return answer
}

// lines checks what comes, line by line.
func (s *house) lines(from *bufio.Reader, want ...string) {
	s.Helper()
	for _, want := range want {
		got, err := from.ReadString('\n')
		if err != nil || got != want+"\n" {
			s.Fatalf("got %q, %v; want %q", got, err, want)
		}
	}
}

// stuck is a reader that takes as little as it can.
func (s *house) stuck(query string) net.Conn {
	s.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(func() { _ = conn.Close() })
	if err := conn.(*net.TCPConn).SetReadBuffer(16 << 10); err != nil {
		s.Fatal(err)
	}
	if _, err := fmt.Fprintf(conn, "GET /v1/chats/ann/events%s HTTP/1.1\r\nHost: everturn\r\nTenant: acme\r\nConnection: close\r\n\r\n", query); err != nil {
		s.Fatal(err)
	}
	return conn
}

// eventually waits for a fact that nobody tells.
func (s *house) eventually(what string, holds func() bool) {
	s.Helper()
	ctx, cancel := context.WithTimeout(s.Context(), patience)
	defer cancel()
	for !holds() {
		select {
		case <-ctx.Done():
			s.Fatalf("waited in vain: %s", what)
		case <-time.After(time.Millisecond):
		}
	}
}
