package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/everturn/everturn/gateway/mcp"
)

// host starts `everturn mcp` as hosts do, and talks to it.
func (b *laptop) host(flags ...string) *sdk.ClientSession {
	b.Helper()
	server := exec.Command(os.Args[0], append([]string{"mcp", "--server", b.url}, flags...)...)
	server.Env = append(os.Environ(), asCommand+"=1")
	server.Stderr = os.Stderr
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "0"}, nil).Connect(b.Context(), &sdk.CommandTransport{Command: server}, nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		if err := s.Close(); err != nil {
			b.Errorf("everturn mcp: %v", err)
		}
	})
	return s
}

// use calls a tool that says how a turn stands.
func use(t *testing.T, s *sdk.ClientSession, name string, in map[string]any) mcp.Turn {
	t.Helper()
	r, err := s.CallTool(t.Context(), &sdk.CallToolParams{Name: name, Arguments: in})
	if err != nil {
		t.Fatal(err)
	}
	text := r.Content[0].(*sdk.TextContent).Text
	var turn mcp.Turn
	if err := json.Unmarshal([]byte(text), &turn); r.IsError || err != nil {
		t.Fatalf("%s %v says %s: %v", name, in, text, err)
	}
	return turn
}

// A turn that waits for a person says what for, and goes on when that is decided.
func TestAHostIsToldWhatWaitsForAPerson(t *testing.T) {
	t.Parallel()
	b := watched(t)
	s := b.host("--by", "user:ann")
	for n, tt := range []struct {
		tool, says string
		in         map[string]any
	}{
		{"approve", "", map[string]any{}},
		{"deny", "not that one", map[string]any{"reason": "not that one"}},
	} {
		asked := use(t, s, "send", map[string]any{"chat": "c1", "text": "note"})
		if asked.Status != mcp.StatusWaiting || len(asked.Waits) != 1 {
			t.Fatalf("it says %+v", asked)
		}
		w := asked.Waits[0]
		if w.Kind != "approval" || w.Tool != "append_ledger" || w.Chat != "c1" || !strings.Contains(w.Arguments, "as the model wrote it") || w.Due == "" {
			t.Errorf("it waits for %+v", w)
		}
		tt.in["chat"], tt.in["call"] = w.Chat, w.Call
		done := use(t, s, tt.tool, tt.in)
		if done.Status != mcp.StatusCompleted || done.Turn != n+2 || !strings.Contains(done.Text, tt.says) || len(done.Waits) > 0 {
			t.Errorf("after %s it says %+v", tt.tool, done)
		}
	}
	says(t, "the log", b.log("c1"), `"user:ann"`)
}

func TestAHostAnswersQuestions(t *testing.T) {
	t.Parallel()
	b := devAsking(t)
	s := b.host()
	use(t, s, "send", map[string]any{"chat": "c1", "text": "hello"})
	b.must("configure", "c1", "--tools", "ask_user")
	asked := use(t, s, "send", map[string]any{"chat": "c1", "text": "choose"})
	if asked.Status != mcp.StatusWaiting || len(asked.Waits) != 1 || len(asked.Waits[0].Questions) != 2 {
		t.Fatalf("it says %+v", asked)
	}
	w := asked.Waits[0]
	if q := w.Questions[0]; w.Kind != "question" || q.ID != "color" || q.Text != "Which color?" || len(q.Options) != 2 || q.Options[1] != "blue" {
		t.Errorf("it asks %+v", w)
	}
	done := use(t, s, "answer", map[string]any{"chat": w.Chat, "call": w.Call, "answers": map[string]string{"color": "blue", "size": "huge"}})
	if done.Status != mcp.StatusCompleted || !strings.Contains(done.Text, "huge") {
		t.Errorf("it says %+v", done)
	}
}

// Another tenant's chats are not there, whatever the host is.
func TestAHostHasTheChatsOfItsTenant(t *testing.T) {
	t.Parallel()
	b := dev(t)
	mine, theirs := b.host("--tenant", "acme"), b.host("--tenant", "globex")
	use(t, mine, "send", map[string]any{"chat": "oslo", "text": "a secret"})
	r, err := theirs.CallTool(t.Context(), &sdk.CallToolParams{Name: "read_transcript", Arguments: map[string]any{"chat": "oslo"}})
	if err != nil || !r.IsError || !strings.Contains(r.Content[0].(*sdk.TextContent).Text, "unknown_chat") {
		t.Errorf("it reads %+v, %v", r, err)
	}
}

// What wants no host any more ends: closed input, and a signal.
func TestMCPEndsWithItsHost(t *testing.T) {
	t.Parallel()
	b := dev(t)
	server := exec.Command(os.Args[0], "mcp", "--server", b.url)
	server.Env = append(os.Environ(), asCommand+"=1")
	if _, err := server.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	out, err := server.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	kill := time.AfterFunc(time.Minute, func() { _ = server.Process.Kill() })
	defer kill.Stop()
	if err := server.Process.Signal(os.Interrupt); err != nil {
		t.Fatal(err)
	}
	_ = out.Close()
	_ = server.Wait() // how a process ends that was interrupted before it began is the system's matter
	if !kill.Stop() {
		t.Error("it had to be killed")
	}
	if r := b.command("", "mcp"); r.code != 0 || r.out != "" {
		t.Errorf("without any input: code %d, %v, %s", r.code, r.failure, r.out)
	}
}
