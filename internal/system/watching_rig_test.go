package system

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/problem"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/protocol"
)

// webGateway is a gateway that answers HTTP.
type webGateway struct {
	*part
	*testing.T
	address string
	client  *http.Client
}

// startGateway starts one that answers whoever asks from this machine.
func (s *system) startGateway() *webGateway {
	s.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		s.Fatal(err)
	}
	g := &webGateway{T: s.T, address: "http://" + l.Addr().String(), client: &http.Client{Transport: &http.Transport{}}}
	s.Cleanup(g.client.CloseIdleConnections)
	cfg := readside.GatewayConfig{Quotas: gateway.Quotas{Watchers: 1000}, Config: gateway.Config{
		Listener: l, Log: slog.New(slog.DiscardHandler), Local: identity.Identity{Tenant: client.DefaultTenant, By: "user:test"},
	}}
	g.part = s.start("gateway", func(ctx context.Context, nc *nats.Conn) error { return readside.RunGateway(ctx, nc, cfg) })
	s.untilItWorks("the gateway is ready", func() error {
		answer, err := g.client.Get(g.address + "/readyz")
		if err != nil {
			return err
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusOK {
			return fmt.Errorf("status %d", answer.StatusCode)
		}
		return nil
	})
	return g
}

// frame is a server-sent event as it came.
type frame struct {
	id, event, data string
}

// rev is that of the commit or page that came.
func (f frame) rev(t *testing.T) uint64 {
	t.Helper()
	var of struct {
		Rev uint64 `json:"rev"`
	}
	if err := json.Unmarshal([]byte(f.data), &of); err != nil {
		t.Fatalf("%s: %v: %s", f.event, err, f.data)
	}
	return of.Rev
}

// delta is the piece of an answer that came.
func (f frame) delta(t *testing.T) protocol.Delta {
	t.Helper()
	var d protocol.Delta
	if err := json.Unmarshal([]byte(f.data), &d); err != nil {
		t.Fatalf("%s: %v: %s", f.event, err, f.data)
	}
	return d
}

// sseStream is a connection of somebody who watches, as a browser has it.
type sseStream struct {
	*testing.T
	body io.ReadCloser
	read *bufio.Reader
	last string // id that was seen
	stop context.CancelFunc

	since time.Time // it is connected

	shown  string // of the answer that is on its way
	pieces int    // of it
}

// get asks for the events of a chat; the id is what a browser sends along.
func (g *webGateway) get(ctx context.Context, k events.Key, query, id string) (*http.Response, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, g.address+"/v1/chats/"+k.Chat+"/events"+query, nil)
	if err != nil {
		return nil, err
	}
	if id != "" {
		r.Header.Set("Last-Event-ID", id)
	}
	return g.client.Do(r)
}

// watch connects until the test ends.
func (g *webGateway) watch(c *chat, query, id string) *sseStream {
	c.Helper()
	s, err := g.open(c, query, id)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(s.drop)
	return s
}

// open connects; it comes again if nobody answers, as browsers do.
func (g *webGateway) open(c *chat, query, id string) (*sseStream, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	for {
		answer, err := g.get(ctx, c.key, query, id)
		if err != nil {
			cancel()
			return nil, err
		}
		if answer.StatusCode == http.StatusOK && answer.Header.Get("Content-Type") == "text/event-stream" {
			return &sseStream{T: c.T, body: answer.Body, read: bufio.NewReader(answer.Body), last: id, stop: cancel, since: time.Now()}, nil
		}
		_ = answer.Body.Close()
		if answer.StatusCode != http.StatusServiceUnavailable {
			cancel()
			return nil, fmt.Errorf("status %d, %s", answer.StatusCode, answer.Header.Get("Content-Type"))
		}
		select {
		case <-ctx.Done():
			cancel()
			return nil, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// drop breaks the connection off.
func (s *sseStream) drop() {
	s.stop()
	_ = s.body.Close()
}

// next is the next event; comments are passed over.
func (s *sseStream) next() (frame, error) {
	var f frame
	for {
		line, err := s.read.ReadString('\n')
		if err != nil {
			return frame{}, err
		}
		field, value, _ := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		switch field {
		case "id":
			f.id = value
		case "event":
			f.event = value
		case "data":
			f.data += value
		case "":
			if line != "\n" || f == (frame{}) {
				continue
			}
			if f.id != "" { // seen is what has come as a whole
				s.last = f.id
			}
			return f, nil
		default:
			s.Errorf("a line %q", line)
		}
	}
}

// must is the next event, which must come.
func (s *sseStream) must() frame {
	s.Helper()
	f, err := s.next()
	if err != nil {
		s.Fatal(err)
	}
	return f
}

// commits checks that the next events are the commits with these revs, and that
// nothing moves the cursor but them.
func (s *sseStream) commits(revs ...uint64) {
	s.Helper()
	for _, want := range revs {
		f := s.must()
		for ; f.event == "delta" || f.event == "progress"; f = s.must() {
			if f.id != "" {
				s.Errorf("a %s has the id %q", f.event, f.id)
			}
		}
		if f.event != "commit" || f.id != strconv.FormatUint(want, 10) || f.rev(s.T) != want {
			s.Fatalf("got %+v, want commit %d", f, want)
		}
	}
}

// problemOf is the no that a request got.
func (g *webGateway) problemOf(c *chat, query, id string) problem.Problem {
	c.Helper()
	answer, err := g.get(patient(c.T), c.key, query, id)
	if err != nil {
		c.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var p problem.Problem
	if err := json.NewDecoder(answer.Body).Decode(&p); err != nil || answer.StatusCode != p.Status {
		c.Fatalf("status %d, %+v, %v", answer.StatusCode, p, err)
	}
	return p
}
