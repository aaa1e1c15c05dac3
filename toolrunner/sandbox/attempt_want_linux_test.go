package sandbox_test

import (
	"context"
	"io"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// want runs a command as whoever uses this package does, and is killed meanwhile.
func want(args []string) error {
	box, err := sandbox.Open(context.Background(), launcher, sandbox.Config{Workspace: args[0], Read: []string{args[2]}})
	if err != nil {
		return err
	}
	_, err = box.Run(context.Background(), sandbox.Command{
		Argv: []string{args[3], "attempt", "deaf", args[1]}, Output: os.Stdout,
	})
	return err
}

// startWanting starts a process that wants a command, and returns when that runs.
func startWanting(t *testing.T, workspace, mark string) *exec.Cmd {
	t.Helper()
	read, write := io.Pipe()
	folder := self(t)[:strings.LastIndex(self(t), "/")]
	cmd := exec.CommandContext(t.Context(), self(t), "attempt", "want", workspace, mark, folder, self(t))
	cmd.Stdout, cmd.Stderr = write, os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 100)
	n, err := read.Read(said)
	if err != nil || !strings.Contains(string(said[:n]), "deaf") {
		t.Fatalf("%q, %v", said[:n], err)
	}
	go io.Copy(io.Discard, read) //nolint:errcheck // until the process is gone
	return cmd
}
