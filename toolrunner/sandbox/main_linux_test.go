package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// The launcher of these tests, set once before any of them.
var launcher sandbox.Launcher

// secret is in the environment of the process that runs the tests, and in files
// beside each workspace.
const secret = "s3cret-of-the-host"

// TestMain is also the program that tries to get out: in a sandbox, this very
// binary is run with the name of an attempt.
func TestMain(m *testing.M) {
	launcher = sandbox.Enter()
	if len(os.Args) > 2 && os.Args[1] == "attempt" {
		os.Exit(attempt(os.Args[2], os.Args[3:]))
	}
	if err := os.Setenv("EVERTURN_TEST_SECRET", secret); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(m.Run())
}

// How an attempt says what came of it.
const (
	escaped = "ESCAPED"
	held    = "held: "
)

func attempt(name string, args []string) int {
	try, ok := attempts()[name]
	if !ok {
		fmt.Println("no such attempt:", name)
		return 2
	}
	if err := try(args); err != nil {
		fmt.Println(held + err.Error())
		return 0
	}
	fmt.Println(escaped)
	return 1
}

// place is a workspace, with something beside it that nobody should reach.
type place struct {
	*testing.T
	workspace string
	outside   string // a folder of the host
	secret    string // a file in it
}

func newPlace(t *testing.T) place {
	t.Helper()
	top := t.TempDir()
	p := place{T: t, workspace: filepath.Join(top, "inside"), outside: filepath.Join(top, "outside")}
	p.secret = filepath.Join(p.outside, "secret.txt")
	for _, folder := range []string{p.workspace, p.outside} {
		if err := os.Mkdir(folder, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(p.secret, []byte(secret), 0o600); err != nil {
		t.Fatal(err)
	}
	return p
}

// box opens a sandbox for the workspace, in which the test binary can be run.
func (p place) box(change func(*sandbox.Config)) *sandbox.Sandbox {
	p.Helper()
	cfg := sandbox.Config{Workspace: p.workspace, Read: []string{filepath.Dir(self(p.T))}}
	if change != nil {
		change(&cfg)
	}
	box, err := sandbox.Open(p.Context(), launcher, cfg)
	if err != nil {
		p.Fatal(err)
	}
	return box
}

func off(c *sandbox.Config) { c.Off = true }

func self(t *testing.T) string {
	t.Helper()
	path, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	if path, err = filepath.EvalSymlinks(path); err != nil {
		t.Fatal(err)
	}
	return path
}

// enough is more time than any attempt needs that does not wait to be killed.
const enough = 30 * time.Second

// run makes an attempt and gives what it has printed.
func (p place) run(box *sandbox.Sandbox, c sandbox.Command, name string, args ...string) (string, sandbox.Result) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), enough)
	defer cancel()
	var out bytes.Buffer
	c.Argv = append([]string{self(p.T), "attempt", name}, args...)
	c.Output = &out
	result, err := box.Run(ctx, c)
	if err != nil && !errors.Is(err, context.DeadlineExceeded) {
		p.Errorf("%s: %v", name, err)
	}
	return out.String(), result
}

// isHeld makes an attempt, which must fail.
func (p place) isHeld(box *sandbox.Sandbox, name string, args ...string) {
	p.Helper()
	out, result := p.run(box, sandbox.Command{}, name, args...)
	if !strings.Contains(out, held) || strings.Contains(out, escaped) || strings.Contains(out, secret) {
		p.Errorf("%s %q: %+v, says %q", name, args, result, out)
	}
}

// isReal makes an attempt without a sandbox, where it must succeed: else its
// failure in one would say nothing.
func (p place) isReal(box *sandbox.Sandbox, name string, args ...string) {
	p.Helper()
	if out, result := p.run(box, sandbox.Command{}, name, args...); !strings.Contains(out, escaped) {
		p.Errorf("%s %q fails without a sandbox as well: %+v, says %q", name, args, result, out)
	}
}

// runMaybe is run for a command that may as well not start.
func (p place) runMaybe(box *sandbox.Sandbox, c sandbox.Command, name string, args ...string) (string, error) {
	p.Helper()
	var out bytes.Buffer
	c.Argv, c.Output = append([]string{self(p.T), "attempt", name}, args...), &out
	_, err := box.Run(p.Context(), c)
	return out.String(), err
}

// plansHere is how many plans there are for whoever runs the tests.
func plansHere() int {
	if os.Geteuid() == 0 {
		return 2
	}
	return 1
}

// everyPlan is the same sandbox by each of them.
func everyPlan(box *sandbox.Sandbox) []*sandbox.Sandbox {
	return []*sandbox.Sandbox{box, box.AsRoot()}[:plansHere()]
}
