package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/everturn/everturn/internal/cli/clitest"
)

// What is wrong with the flags is said before any server is asked, and ends with 2.
func TestEveryBadValueIsUsage(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("neither keys nor a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(text, "below")
	clitest.BadUsage(t, run, [][]string{
		{"--no-such-flag"},
		{"--pools", "x"},
		{"--pools", "x=-1"},
		{"--pools", "X.Y=1"},
		{"--model-pools", "a=B.C"},
		{"--mailboxes=-1"},
		{"--cache-bytes", "1"},
		{"--ack-wait", "1ns"},
		{"--silence=-1s"},
		{"--streams", text},
		{"--streams", nowhere},
		{"--models", text},
		{"--model", "nobody"},
		{"--metrics", "nowhere"},
		{"--context", "nobody"},
		{"--creds", nowhere},
		{"--server", "nats://127.0.0.1:x"},
	})
}

func TestVersion(t *testing.T) {
	t.Parallel()
	clitest.Version(t, run, name)
}
