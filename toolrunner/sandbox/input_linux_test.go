package sandbox_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// everyBox is a sandbox by each plan, and one that is off.
func everyBox(p place) []*sandbox.Sandbox {
	p.Helper()
	return append(everyPlan(p.box(nil)), p.box(off))
}

// typed is the end of a pipe from which text can be read, and the other end, which
// nobody has closed.
func typed(t *testing.T, text string) (read, write *os.File) {
	t.Helper()
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = write.Close() })
	if _, err := io.WriteString(write, text); err != nil {
		t.Fatal(err)
	}
	return read, write
}

func TestACommandReadsItsInputAndWritesToTwoOutputs(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, box := range everyBox(p) {
		var output, errs bytes.Buffer
		input, write := typed(t, "one\ntwo\n")
		if err := write.Close(); err != nil {
			t.Fatal(err)
		}
		result, err := box.Run(t.Context(), sandbox.Command{
			Argv:  []string{"/bin/sh", "-c", "cat; echo three >&2; echo $WORD; pwd"},
			Input: input, Output: &output, Errors: &errs, Environment: []string{"WORD=four"},
		})
		if err != nil || result.Exit != 0 || output.String() != "one\ntwo\nfour\n"+box.Workspace()+"\n" || errs.String() != "three\n" {
			t.Errorf("%v: %+v, %v, wrote %q and %q", box.Layers(), result, err, output.String(), errs.String())
		}
		if _, err := input.Stat(); !errors.Is(err, os.ErrClosed) {
			t.Errorf("the input is still open: %v", err)
		}
	}
}

// Who writes to a command that has ended is told so, and does not wait for ever.
func TestNobodyButTheCommandHoldsItsInput(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, box := range everyBox(p) {
		input, write := typed(t, "")
		written := make(chan error, 1)
		go func() {
			_, err := io.Copy(write, endless{})
			written <- err
		}()
		if _, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/sh", "-c", "exec <&-; sleep 0.1"}, Input: input}); err != nil {
			t.Error(err)
		}
		if err := <-written; err == nil {
			t.Error("it was all read")
		}
	}
}

type endless struct{}

func (endless) Read(b []byte) (int, error) { return len(b), nil }

func TestACommandReadsWhatItIsShownAndNothingBesides(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	beside := filepath.Join(p.outside, "beside.txt")
	if err := os.WriteFile(beside, []byte("beside\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	box := p.box(nil)
	for _, tt := range []struct {
		name    string
		command sandbox.Command
		want    string
		exit    int
	}{
		{"one file", sandbox.Command{Argv: []string{"cat", p.secret, beside}, Read: []string{beside}}, "beside\n", 1},
		{"a folder, and starts there", sandbox.Command{Argv: []string{"cat", "beside.txt"}, Read: []string{p.outside}, Folder: p.outside}, "beside\n", 0},
		{"and writes nothing", sandbox.Command{Argv: []string{"rm", "beside.txt"}, Read: []string{p.outside}, Folder: p.outside}, "", 1},
	} {
		var output bytes.Buffer
		tt.command.Output, tt.command.Errors = &output, io.Discard
		result, err := box.Run(t.Context(), tt.command)
		if err != nil || result.Exit != tt.exit || output.String() != tt.want {
			t.Errorf("%s: %+v, %v, wrote %q", tt.name, result, err, output.String())
		}
	}
	for _, c := range []sandbox.Command{
		{Folder: p.outside}, {Folder: "."}, {Read: []string{"."}}, {Environment: []string{"WORD"}}, {Read: []string{beside}, Folder: beside},
	} {
		c.Argv = []string{"true"}
		for _, box := range everyBox(p) {
			if result, err := box.Run(t.Context(), c); !errors.Is(err, sandbox.ErrNotStarted) {
				t.Errorf("%+v: %+v, %v", c, result, err)
			}
		}
	}
}

func TestWhatCommandsHaveOfTheirOwnIsNotReadable(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	link := filepath.Join(folder, "link")
	if err := os.Symlink(folder, link); err != nil {
		t.Fatal(err)
	}
	if got, err := sandbox.Readable(link); err != nil || strings.HasSuffix(got, "link") {
		t.Errorf("%s, %v", got, err)
	}
	for _, path := range []string{"/", "/tmp", "/etc", "/proc", filepath.Join(folder, "nothing")} {
		if got, err := sandbox.Readable(path); err == nil {
			t.Errorf("%s is %s", path, got)
		}
	}
	missing := filepath.Join(folder, "nothing", "below") // of which the file system names the upper one
	if _, err := sandbox.Readable(missing); err == nil || !strings.HasPrefix(err.Error(), missing+": ") {
		t.Errorf("%s is not there: %v", missing, err)
	}
}

// What was there when the sandbox was opened may be gone when a command is to run.
func TestAFolderThatIsGoneIsNamed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, box := range everyBox(p) {
		workspace := box.Workspace()
		if err := os.Rename(workspace, workspace+".gone"); err != nil {
			t.Fatal(err)
		}
		_, err := box.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/true"}})
		if err == nil || !strings.Contains(err.Error(), workspace) || strings.Contains(err.Error(), "/old"+workspace) {
			t.Errorf("%v: error is %v, want one that names %s", box.Layers(), err, workspace)
		}
		if err := os.Rename(workspace+".gone", workspace); err != nil {
			t.Fatal(err)
		}
	}
}
