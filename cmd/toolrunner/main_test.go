package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/internal/cli"
)

// What is wrong with the flags is said before any server is asked, and ends with 2.
func TestEveryBadValueIsUsage(t *testing.T) {
	t.Parallel()
	text := filepath.Join(t.TempDir(), "text")
	if err := os.WriteFile(text, []byte("neither keys nor a key"), 0o600); err != nil {
		t.Fatal(err)
	}
	nowhere := filepath.Join(text, "below")
	for _, args := range [][]string{
		{"--no-such-flag"},
		{"--group", "A.B"},
		{"--concurrency=-1"},
		{"--ack-wait", "1ns"},
		{"--offer-every", "1ns"},
		{"--workspace", nowhere},
		{"--metrics", "nowhere"},
		{"--context", "nobody"},
		{"--creds", text},
		{"--server", "nats://127.0.0.1:x"},
	} {
		t.Run(strings.Join(args, " "), func(t *testing.T) {
			t.Parallel()
			if err := run(t.Context(), args, io.Discard, io.Discard); cli.Code(err) != cli.ExitUsage {
				t.Errorf("code %d, want %d: %v", cli.Code(err), cli.ExitUsage, err)
			}
		})
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := run(t.Context(), []string{"--version"}, &out, io.Discard); cli.Code(err) == cli.ExitUsage || !strings.HasPrefix(out.String(), name+" ") {
		t.Errorf("%v, out %q", err, &out)
	}
}
