package system

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/embedded/embeddedtest"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

const (
	// patience is how long a test waits for a fact before it gives up.
	patience = 60 * time.Second

	// poll is how often a test looks for a fact that nobody tells it.
	poll = 10 * time.Millisecond
)

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "everturn-system-")
	if err == nil {
		err = isolate(dir)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "system:", err)
		os.Exit(1)
	}
	code := m.Run()
	_ = os.RemoveAll(dir) // a leftover in the temporary folder fails no test
	if left := leftOver(); code == 0 && left != "" {
		fmt.Fprintf(os.Stderr, "system: a goroutine of a part is left over:\n%s\n", left)
		code = 1
	}
	os.Exit(code)
}

// isolate sees to it that neither the contexts nor the variables of whoever runs
// the tests count.
func isolate(dir string) error {
	for _, name := range []string{"NATS_URL", "NATS_CREDS", "NATS_NKEY", "NATS_USER", "NATS_PASSWORD", "NATS_TOKEN", "NATS_CONTEXT"} {
		if err := os.Unsetenv(name); err != nil {
			return err
		}
	}
	return os.Setenv("XDG_CONFIG_HOME", dir)
}

// leftOver is the stack of a goroutine that runs code of a part after all parts
// have ended; empty if there is none soon.
func leftOver() string {
	const wait, maxStackBytes = 10 * time.Second, 16 << 20
	for until := time.Now().Add(wait); ; {
		stacks := make([]byte, maxStackBytes)
		stacks = stacks[:runtime.Stack(stacks, true)]
		left := ""
		for stack := range strings.SplitSeq(string(stacks), "\n\n") {
			for _, part := range []string{"orchestrator", "toolrunner", "projections", "streams", "client"} {
				if strings.Contains(stack, "github.com/everturn/everturn/"+part+".") {
					left = stack
				}
			}
		}
		if left == "" || time.Now().After(until) {
			return left
		}
		<-time.After(poll)
	}
}

func patient(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	return ctx
}

// eventually waits until holds says yes.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	ctx := patient(t)
	for !holds() {
		select {
		case <-ctx.Done():
			t.Fatalf("waited in vain: %s", what)
		case <-time.After(poll):
		}
	}
}

// options of a system. The zero value is what most tests want.
type options struct {
	store   string        // default: a new folder
	ackWait time.Duration // default: the product's
}

// system is a server, and as many parts around it as a test starts.
type system struct {
	*testing.T

	options options
	server  *embedded.Server
	nc      *nats.Conn   // of the test itself
	bus     *streams.Bus // likewise
	models  models
	tools   toolbox
}

// newSystem starts a server with empty streams.
func newSystem(t *testing.T, o options) *system {
	t.Helper()
	if o.store == "" {
		o.store = t.TempDir()
	}
	server := embeddedtest.Start(t, embedded.Options{Store: o.store})
	s := &system{T: t, options: o, server: server}
	s.nc = s.connect("test")
	topology, err := streams.LoadTopology("")
	if err != nil {
		t.Fatal(err)
	}
	js, err := jetstream.New(s.nc)
	if err != nil {
		t.Fatal(err)
	}
	s.untilItWorks("apply the topology", func() error {
		_, err := topology.Apply(t.Context(), js, streams.ApplyOptions{AckWait: o.ackWait})
		return err
	})
	if s.bus, err = streams.Open(t.Context(), s.nc, streams.Options{AckWait: o.ackWait}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.bus.Close)
	t.Cleanup(s.noConsumerIsLeft) // when all parts have ended
	return s
}

// running is a system with one of each part.
func running(t *testing.T, o options) *system {
	t.Helper()
	s := newSystem(t, o)
	s.startOrchestrator(nil)
	s.startProjections()
	s.startRunner(nil)
	t.Cleanup(s.nothingIsLeft)
	return s
}

func (s *system) connect(name string) *nats.Conn {
	s.Helper()
	var nc *nats.Conn
	s.untilItWorks("connect", func() (err error) {
		nc, err = s.server.Connect(name)
		return err
	})
	s.Cleanup(nc.Close)
	return nc
}

// untilItWorks does again what fails because the machine is busy: the product
// gives up on such things after a few seconds, on purpose.
func (s *system) untilItWorks(what string, do func() error) {
	s.Helper()
	ctx := patient(s.T)
	for {
		err := do()
		if err == nil {
			return
		}
		select {
		case <-ctx.Done():
			s.Fatalf("%s: %v", what, err)
		case <-time.After(poll):
		}
	}
}

// part is one part that runs, on a connection of its own.
type part struct {
	nc    *nats.Conn
	stop  context.CancelFunc
	ended chan struct{}
}

// start runs a part until the test ends.
func (s *system) start(name string, run func(ctx context.Context, nc *nats.Conn) error) *part {
	s.Helper()
	ctx, cancel := context.WithCancel(context.Background()) // the test's own ends before its cleanups
	p := &part{nc: s.connect(name), stop: cancel, ended: make(chan struct{})}
	go func() {
		defer close(p.ended)
		if err := run(ctx, p.nc); err != nil {
			s.Errorf("%s: %v", name, err)
		}
	}()
	s.Cleanup(p.halt)
	return p
}

// halt stops the part as an operator would, and waits for it.
func (p *part) halt() {
	p.stop()
	<-p.ended
}

// kill takes the part's connection away, as if its process were gone: nothing
// that it says or settles arrives any more, and nothing reaches it.
func (p *part) kill() {
	p.nc.Close()
	p.stop()
}

// startOrchestrator starts one; edit, if given, changes how it is made.
func (s *system) startOrchestrator(edit func(*orchestrator.Config, *orchestrator.Bus)) *part {
	s.Helper()
	cfg := orchestrator.Config{AckWait: s.options.ackWait}
	if edit == nil {
		ready := make(chan struct{})
		p := s.start("orchestrator", func(ctx context.Context, nc *nats.Conn) error {
			return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, s.models.find, func() { close(ready) })
		})
		select {
		case <-ready:
		case <-p.ended:
			s.FailNow()
		}
		return p
	}
	return s.start("orchestrator", func(ctx context.Context, nc *nats.Conn) error {
		bus, err := streams.Open(ctx, nc, streams.Options{AckWait: s.options.ackWait})
		if err != nil {
			return err
		}
		defer bus.Close()
		ports := orchestrator.Bus{
			Log: bus.Log, Commands: bus.Commands, Work: bus.Work, Timers: bus.Timers, Requests: bus.Requests,
			Signals: bus.Signals, Feed: bus.Feed, Blobs: bus.Blobs, Tools: bus.Tools, Agents: bus.Agents, Snapshots: bus.Snapshots, Dead: bus.Dead,
		}
		edit(&cfg, &ports)
		o, err := orchestrator.New(cfg, ports, s.models.find)
		if err != nil {
			return err
		}
		return o.Run(ctx)
	})
}

// startRunner starts a tool runner and returns when its tools can be used;
// wrap, if given, stands between it and the bus.
func (s *system) startRunner(wrap func(toolrunner.Bus) toolrunner.Bus) *part {
	s.Helper()
	offered := make(chan struct{})
	cfg := toolrunner.Config{
		AckWait: s.options.ackWait, Grace: -1, Offered: sync.OnceFunc(func() { close(offered) }),
	}
	p := s.start("toolrunner", func(ctx context.Context, nc *nats.Conn) error {
		if wrap == nil {
			return parts.RunTools(ctx, nc, cfg, s.tools.all())
		}
		bus, err := streams.OpenRunner(nc, streams.Options{AckWait: s.options.ackWait})
		if err != nil {
			return err
		}
		defer bus.Close()
		r, err := toolrunner.New(cfg, wrap(bus), s.tools.all())
		if err != nil {
			return err
		}
		return r.Run(ctx)
	})
	select {
	case <-offered:
	case <-p.ended:
		s.FailNow()
	case <-patient(s.T).Done():
		s.Fatal("nobody took the offer of tools")
	}
	return p
}

func (s *system) startProjections() *part {
	s.Helper()
	return s.start("projections", func(ctx context.Context, nc *nats.Conn) error {
		return readside.RunProjections(ctx, nc, readside.Projections{Version: "0.0.0", Log: slog.New(slog.DiscardHandler)})
	})
}

// nothingIsLeft fails unless everything that was stored to be done was done.
func (s *system) nothingIsLeft() {
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	for _, name := range []string{streams.CommandsStream, streams.WorkStream} {
		s.eventuallyEmpty(js, name)
	}
}

// noConsumerIsLeft fails if a part that has ended left a consumer on the server
// that no other will use. The server takes a moment to notice.
func (s *system) noConsumerIsLeft() {
	js, err := jetstream.New(s.nc)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
	defer cancel()
	for name := range js.StreamNames(ctx).Name() {
		for left := ephemeral(ctx, js, name); left != ""; left = ephemeral(ctx, js, name) {
			select {
			case <-ctx.Done():
				s.Errorf("%s still has the consumer %s", name, left)
				return
			case <-time.After(poll):
			}
		}
	}
}

// ephemeral is the name of a consumer of the stream that belongs to one process.
func ephemeral(ctx context.Context, js jetstream.JetStream, name string) string {
	stream, err := js.Stream(ctx, name)
	if err != nil {
		return err.Error()
	}
	for consumer := range stream.ListConsumers(ctx).Info() {
		if consumer.Config.Durable == "" {
			return consumer.Name
		}
	}
	return ""
}

func (s *system) eventuallyEmpty(js jetstream.JetStream, name string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience) // the test's own has ended
	defer cancel()
	for {
		stream, err := js.Stream(ctx, name)
		if err == nil && stream.CachedInfo().State.Msgs == 0 {
			return
		}
		select {
		case <-ctx.Done():
			s.Errorf("%s still has messages when all is done (%v)", name, err)
			return
		case <-time.After(poll):
		}
	}
}

// lines is a log that a test can look into.
type lines struct {
	slog.Handler
	mu   sync.Mutex
	said map[string]int
}

func newLines() *lines {
	return &lines{Handler: slog.DiscardHandler, said: map[string]int{}}
}

// Enabled implements [slog.Handler].
func (*lines) Enabled(context.Context, slog.Level) bool { return true }

// Handle implements [slog.Handler].
func (l *lines) Handle(_ context.Context, r slog.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.said[r.Message]++
	return nil
}

// times is how often a message was logged.
func (l *lines) times(message string) int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.said[message]
}
