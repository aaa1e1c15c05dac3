package sandbox_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
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

// held runs one attempt in a sandbox, as whoever runs this process.
func heldAttempt(args []string) error {
	box, err := sandbox.Open(context.Background(), launcher, sandbox.Config{Workspace: args[0], Read: []string{filepath.Dir(self0())}})
	if err != nil {
		return err
	}
	fmt.Println(box.Layers())
	_, err = box.Run(context.Background(), sandbox.Command{Argv: append([]string{self0(), "attempt"}, args[1:]...), Output: os.Stdout})
	if err == nil {
		err = errors.New("see above")
	}
	return err
}

func self0() string {
	path, err := os.Executable()
	if err != nil {
		return os.Args[0]
	}
	return path
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
