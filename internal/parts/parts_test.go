package parts_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/model/script"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol/listing"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/tools"
)

func serve(t *testing.T, configure func(*server.Options)) *embedded.Server {
	t.Helper()
	return embeddedtest.Start(t, embedded.Options{Configure: configure})
}

func connect(t *testing.T, s *embedded.Server) *nats.Conn {
	t.Helper()
	nc, err := s.Connect(t.Name())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(nc.Close)
	return nc
}

func demo(string) (model.Model, bool) { return script.Demo(), true }

// Licences to run tools rest on clocks that agree, so nothing starts without.
func TestAnOrchestratorWhoseClockIsWrongDoesNotStart(t *testing.T) {
	t.Parallel()
	nc := connect(t, serve(t, nil))
	cfg := orchestrator.Config{Clock: func() time.Time { return time.Now().Add(-10 * time.Second) }}
	err := parts.RunOrchestrator(t.Context(), nc, parts.Topology{ManageAssets: true}, cfg, demo, func() { t.Error("it is ready") })
	wrong, ok := errors.AsType[*streams.ClockError](err)
	if !ok || wrong.Clock.Ahead > -9*time.Second {
		t.Errorf("got %v", err)
	}
}

// All parts, and a client, are connected to a leaf node with a JetStream of its
// own; the streams are in another domain.
func TestATurnInAnotherDomain(t *testing.T) {
	t.Parallel()
	const domain = "hub"
	leaf := leafOf(t, domain)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	run := func(part func(nc *nats.Conn) error) {
		nc := connect(t, leaf)
		running.Go(func() {
			if err := part(nc); err != nil {
				t.Error(err)
			}
		})
	}
	ready, offered := make(chan struct{}), make(chan struct{})
	run(func(nc *nats.Conn) error {
		cfg := orchestrator.Config{Defaults: events.Settings{Model: "script"}}
		return parts.Domain(domain).RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, demo, func() { close(ready) })
	})
	<-ready
	run(func(nc *nats.Conn) error {
		cfg := toolrunner.Config{Offered: sync.OnceFunc(func() { close(offered) })}
		return parts.Domain(domain).RunTools(ctx, nc, cfg, []toolrunner.Tool{tools.CurrentTime(time.Now)})
	})
	run(func(nc *nats.Conn) error {
		return parts.Domain(domain).RunProjections(ctx, nc, "0.0.0", slog.New(slog.DiscardHandler))
	})
	<-offered
	c := client.New(connect(t, leaf), "", "")
	chat, err := c.Ensure(ctx, "")
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := c.Say(ctx, chat, "what time is it?", nil)
	if err != nil || outcome.Status != transcript.TurnCompleted || outcome.Totals.Calls != 1 {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

// leafOf is a leaf node of a server whose JetStream has the domain.
func leafOf(t *testing.T, domain string) *embedded.Server {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := l.Addr().(*net.TCPAddr).Port
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	hub := serve(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "hub", domain
		o.LeafNode.Host, o.LeafNode.Port = "127.0.0.1", port
	})
	user, password := hub.Credentials()
	at := &url.URL{Scheme: "nats-leaf", User: url.UserPassword(user, password), Host: fmt.Sprintf("127.0.0.1:%d", port)}
	leaf := serve(t, func(o *server.Options) {
		o.ServerName, o.JetStreamDomain = "leaf", "leaf"
		o.LeafNode.Remotes = []*server.RemoteLeafOpts{{URLs: []*url.URL{at}}}
	})
	js, err := jetstream.NewWithDomain(connect(t, leaf), domain)
	if err != nil {
		t.Fatal(err)
	}
	for { // the leaf node needs a moment to reach the hub
		try, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
		_, err := js.AccountInfo(try)
		cancel()
		if err == nil {
			return leaf
		}
		if t.Context().Err() != nil {
			t.Fatal(err)
		}
	}
}

// told is a log that tells when somebody has written to it.
type told chan string

func (t told) Write(line []byte) (int, error) {
	select {
	case t <- string(line):
	default: // the first line is enough
	}
	return len(line), nil
}

func TestProjectionsWaitForTheStreams(t *testing.T) {
	t.Parallel()
	nc := connect(t, serve(t, nil))
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	defer running.Wait()
	defer cancel()
	log := make(told, 1)
	running.Go(func() {
		if err := parts.RunProjections(ctx, nc, "0.0.0", slog.New(slog.NewTextHandler(log, nil))); err != nil {
			t.Error(err)
		}
	})
	if line := <-log; !strings.Contains(line, "level=WARN") || !strings.Contains(line, "everturn streams apply") {
		t.Errorf("it says %s", line)
	}
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Apply(t.Context(), js, streams.ApplyOptions{}); err != nil {
		t.Fatal(err)
	}
	c := client.New(nc, "", "")
	for {
		_, err := c.Head(t.Context(), "nobody")
		if errors.Is(err, client.ErrNoService) {
			continue // not yet
		}
		if query, ok := errors.AsType[*client.QueryError](err); !ok || query.Code != events.CodeUnknownChat {
			t.Errorf("it answers %v", err)
		}
		break
	}
	_, err = c.Chats(t.Context(), listing.ChatsRequest{})
	if query, ok := errors.AsType[*client.QueryError](err); !ok || query.Code != events.CodeUnavailable || !strings.Contains(query.Message, "--store") {
		t.Errorf("without a store a list is %v, want unavailable and what to do", err)
	}
}
