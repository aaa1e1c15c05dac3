package main

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli/clitest"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// unlaunched is the command in a process that no copy of holds commands.
func unlaunched(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	return run(ctx, sandbox.Launcher{}, args, stdout, stderr)
}

// What is wrong with the flags is said before any server is asked, and ends with 2.
func TestEveryBadValueIsUsage(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("neither keys nor a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(text, "below")
	clitest.BadUsage(t, unlaunched, [][]string{
		{"--no-such-flag"},
		{"--group", "A.B"},
		{"--concurrency=-1"},
		{"--ack-wait", "1ns"},
		{"--offer-every", "1ns"},
		{"--workspace", nowhere},
		{"--allow-command", "status"},
		{"--allow-command", `status=["A=B","git"]`},
		{"--allow-command", `status=["git"]`, "--sandbox=off"},
		{"--command-read", nowhere},
		{"--command-time", "1ms"},
		{"--sandbox", "perhaps"},
		{"--mcp", text},
		{"--mcp", nowhere},
		{"--metrics", "nowhere"},
		{"--context", "nobody"},
		{"--creds", text},
		{"--server", "nats://127.0.0.1:x"},
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	clitest.Version(t, unlaunched, name)
}

// Without the sandbox nothing is offered in silence.
func TestCommandsNeedASandboxOrAWord(t *testing.T) {
	t.Parallel()
	err := unlaunched(t.Context(), []string{"--commands", "--workspace", t.TempDir()}, io.Discard, io.Discard)
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "--sandbox=off") {
		t.Errorf("%v", err)
	}
}
