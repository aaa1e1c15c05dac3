package mcp_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/mcp"
)

// patience is for a busy machine.
const patience = 30 * time.Second

// rig is some servers, served, and what they offer.
type rig struct {
	*testing.T

	folder string
	log    *safeBuffer

	mu    sync.Mutex
	tools []toolrunner.Tool
	news  chan struct{}
	times int // that they offered something
}

type safeBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *safeBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *safeBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

// quick are times for tests.
func quick() mcp.Times {
	return mcp.Times{Start: patience, Slow: patience, Ready: 5 * time.Second, Ping: time.Second, Restart: 20 * time.Millisecond}
}

// entry is one server of a file.
type entry map[string]any

// fakeServer is the entry of a fake with these variables, and fields.
func fakeServer(t *testing.T, env map[string]string, more entry) entry {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	e := entry{"command": program, "args": []string{"fake"}, "env": env}
	maps.Copy(e, more)
	return e
}

// serve serves the entries until the end of the test.
func serve(t *testing.T, times mcp.Times, entries map[string]entry) *rig {
	t.Helper()
	return serveWith(t, mcp.Config{Workspace: t.TempDir(), SandboxOff: true, Times: times}, entries)
}

func serveWith(t *testing.T, cfg mcp.Config, entries map[string]entry) *rig {
	t.Helper()
	r := &rig{T: t, folder: cfg.Workspace, log: &safeBuffer{}, news: make(chan struct{}, 1)}
	body, err := json.Marshal(map[string]any{"mcpServers": entries})
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "servers.json")
	if err := os.WriteFile(path, body, 0o600); err != nil {
		t.Fatal(err)
	}
	file, err := mcp.Load(path, func(name string) (string, bool) { return "value-of-" + name, true })
	if err != nil {
		t.Fatal(err)
	}
	cfg.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	servers, err := mcp.Open(t.Context(), file, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		servers.Serve(ctx, r.offer)
	}()
	t.Cleanup(func() {
		stop()
		select {
		case <-done:
		case <-time.After(patience):
			t.Error("the servers do not end")
		}
		if t.Failed() {
			t.Logf("log:\n%s", r.log)
		}
	})
	return r
}

func (r *rig) offer(tools []toolrunner.Tool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.tools = tools
	r.times++
	select {
	case r.news <- struct{}{}:
	default:
	}
}

// tool waits until a tool of that name is offered.
func (r *rig) tool(name string) toolrunner.Tool {
	r.Helper()
	late := time.After(patience)
	for {
		r.mu.Lock()
		tools := r.tools
		r.mu.Unlock()
		i := slices.IndexFunc(tools, func(t toolrunner.Tool) bool { return t.Manifest().Name == name })
		if i >= 0 {
			return tools[i]
		}
		select {
		case <-r.news:
		case <-late:
			r.Fatalf("%s is not offered", name)
		}
	}
}

// offered are the names of all that is on offer.
func (r *rig) offered() (names []string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, t := range r.tools {
		names = append(names, t.Manifest().Name)
	}
	return names
}

// call is a call with nobody who watches, or could be asked.
func call(arguments string) toolrunner.Call {
	return toolrunner.Call{
		Chat: events.Key{Tenant: "acme", Chat: "c1"}, ID: events.CallID{Turn: 1, Step: 1, Ordinal: 1},
		Arguments: json.RawMessage(arguments), Key: "key-1", Progress: func(string) {},
		Ask: func(context.Context, []events.Question) (toolrunner.Reply, error) {
			return toolrunner.Reply{}, toolrunner.ErrCannotAsk
		},
	}
}

// run runs a tool that is waited for, for at most a time.
func (r *rig) run(name string, c toolrunner.Call, most time.Duration) (toolrunner.Output, error) {
	r.Helper()
	tool := r.tool(name)
	ctx, cancel := context.WithTimeoutCause(r.Context(), most, toolrunner.ErrTimeout)
	defer cancel()
	return tool.Run(ctx, c)
}

// wantText runs a tool that must succeed and say this.
func (r *rig) wantText(name, arguments, want string) {
	r.Helper()
	out, err := r.run(name, call(arguments), patience)
	if err != nil || out.IsError || out.Text != want {
		r.Errorf("%s: %q, is error %v, %v; want %q", name, out.Text, out.IsError, err, want)
	}
}

// lines are those of a file that a fake wrote.
func lines(t *testing.T, path string) []string {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	return strings.Fields(string(content))
}

// wait waits until something is true.
func (r *rig) wait(what string, is func() bool) {
	r.Helper()
	late := time.After(patience)
	for !is() {
		select {
		case <-time.After(5 * time.Millisecond):
		case <-late:
			r.Fatalf("it never happens: %s", what)
		}
	}
}
