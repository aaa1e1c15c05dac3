package sandbox_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Each attempt has a bound of its own beside that of the sandbox, so that a
// sandbox that fails does not take the machine with it. The limits of memory leave
// room for what the race detector takes.
func TestNothingUsesMoreThanItMay(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		limits sandbox.Limits
		args   []string
		want   string // limit, signal, or a part of what it says
	}{
		{"processes", sandbox.Limits{Processes: 40}, []string{"500"}, "processes"},
		{"threads", sandbox.Limits{Processes: 40}, []string{"300"}, "processes"},
		{"memory", sandbox.Limits{Memory: 768 * mib}, []string{"1200"}, "cannot allocate memory"},
		{"memory of many", sandbox.Limits{Memory: 768 * mib}, []string{"200", "memory"}, "MiB of memory"},
		{"memory of many", sandbox.Limits{Memory: 768 * mib}, []string{"200", "memory of the rest"}, "MiB of memory"},
		{"shared memory", sandbox.Limits{Memory: 768 * mib}, []string{"1000"}, "MiB of memory"},
		{"nameless file", sandbox.Limits{}, nil, "not implemented"},
		{"file", sandbox.Limits{FileSize: 8 * mib}, []string{"big", "20"}, "after 8 MiB"},
		{"file", sandbox.Limits{Temporary: 8 * mib}, []string{"/tmp/big", "20"}, "no space left"},
		{"file", sandbox.Limits{Temporary: 8 * mib}, []string{"/dev/shm/big", "20"}, "no space left"},
		{"many descriptors", sandbox.Limits{OpenFiles: 64}, []string{"200"}, "too many open files"},
		{"spin", sandbox.Limits{CPU: time.Second}, nil, "SIGKILL"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			box := p.box(func(c *sandbox.Config) { c.Limits = tt.limits })
			out, result := p.run(box, sandbox.Command{}, tt.name, tt.args...)
			if !strings.Contains(out+result.Signal+result.Limit, tt.want) || tt.name != "memory of many" && strings.Contains(out, escaped) {
				t.Errorf("%+v, says %.500q", result, out)
			}
		})
	}
}

// What bounds a command leaves room for ordinary work.
func TestOrdinaryUseFitsIn(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	box := p.box(nil)
	for name, args := range map[string][]string{
		"processes": {"100"}, "memory": {"200"}, "file": {"big", "50"}, "many descriptors": {"500"},
	} {
		if out, result := p.run(box, sandbox.Command{}, name, args...); !strings.Contains(out, escaped) {
			t.Errorf("%s: %+v, says %.500q", name, result, out)
		}
	}
	for _, plan := range everyPlan(box) {
		var out bytes.Buffer
		const devices = "for d in null zero full random urandom; do head -c 1 /dev/$d | wc -c; done; echo x >/dev/null && echo x >/dev/zero"
		result, err := plan.Run(t.Context(), sandbox.Command{Argv: []string{"/bin/sh", "-c", devices}, Output: &out})
		if err != nil || result.Exit != 0 || out.String() != "0\n1\n1\n1\n1\n" {
			t.Errorf("devices: %+v, %v, says %q", result, err, &out)
		}
	}
	if info, err := os.Stat(filepath.Join(p.workspace, "big")); err != nil || info.Size() != 50*mib {
		t.Errorf("what was written to the workspace is not there: %v", err)
	}
}

// mark is an argument that no other process has.
func mark(t *testing.T) string {
	t.Helper()
	return "mark-" + strings.ReplaceAll(t.Name(), "/", "-") + "-" + strconv.Itoa(os.Getpid())
}

// processesWith lists the processes of this machine that have the mark.
func processesWith(t *testing.T, mark string) (found []string) {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		if err == nil && bytes.Contains(content, []byte(mark)) {
			found = append(found, fmt.Sprintf("%s: %q", file, content))
		}
	}
	return found
}

// soon is far less than what the attempts would last, and more than being killed takes.
const soon = 10 * time.Second

func TestNothingSurvivesItsCall(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"daemon", "session", "stopped", "crowd"} {
		for plan := range plansHere() {
			t.Run(fmt.Sprint(name, plan), func(t *testing.T) {
				t.Parallel()
				p := newPlace(t)
				box := everyPlan(p.box(nil))[plan]
				began := time.Now()
				out, result := p.run(box, sandbox.Command{}, name, mark(t))
				if !strings.Contains(out, escaped) { // here it means that it left somebody behind
					t.Errorf("%+v, says %q", result, out)
				}
				if took := time.Since(began); took > soon {
					t.Errorf("took %v", took)
				}
				if left := processesWith(t, mark(t)); len(left) > 0 {
					t.Errorf("left behind: %s", left)
				}
			})
		}
	}
}

// signalled is a writer that tells when a word has been written to it.
type signalled struct {
	word string
	seen chan struct{}
	done atomic.Bool
}

func (s *signalled) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte(s.word)) && s.done.CompareAndSwap(false, true) {
		close(s.seen)
	}
	return len(b), nil
}

func TestACommandThatDoesNotListenIsKilled(t *testing.T) {
	t.Parallel()
	for plan := range plansHere() + 1 {
		t.Run(fmt.Sprint(plan), func(t *testing.T) {
			t.Parallel()
			p := newPlace(t)
			box := append(everyPlan(p.box(nil)), p.box(off))[plan]
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			out := &signalled{word: "deaf", seen: make(chan struct{})}
			go func() { <-out.seen; cancel() }()
			began := time.Now()
			result, err := box.Run(ctx, sandbox.Command{Argv: []string{self(t), "attempt", "deaf", mark(t)}, Output: out})
			if !errors.Is(err, context.Canceled) || result.Signal != "SIGKILL" {
				t.Errorf("%+v, %v", result, err)
			}
			if took := time.Since(began); took < 2*time.Second || took > soon {
				t.Errorf("took %v", took)
			}
			if left := processesWith(t, mark(t)); len(left) > 0 {
				t.Errorf("left behind: %s", left)
			}
		})
	}
}

func TestACommandThatListensEndsAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	out := &signalled{word: "ready", seen: make(chan struct{})}
	go func() { <-out.seen; cancel() }()
	began := time.Now()
	result, err := p.box(nil).Run(ctx, sandbox.Command{Argv: []string{"/bin/sh", "-c", "trap 'exit 7' TERM; echo ready; sleep 60 & wait"}, Output: out})
	if !errors.Is(err, context.Canceled) || result.Exit != 7 || time.Since(began) > soon {
		t.Errorf("%+v, %v after %v", result, err, time.Since(began))
	}
}

// A process that wants a command and dies takes it with it. Here a copy of this
// program is killed that has just started one.
func TestACommandDiesWithWhoeverWantedIt(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	wanted := startWanting(t, p.workspace, mark(t))
	if len(processesWith(t, mark(t))) < 2 { // the one that wants it, and the command
		t.Fatal("the command does not run")
	}
	if err := wanted.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = wanted.Wait()
	for began := time.Now(); len(processesWith(t, mark(t))) > 0; {
		if time.Since(began) > soon {
			t.Fatalf("left behind: %s", processesWith(t, mark(t)))
		}
		<-time.After(10 * time.Millisecond)
	}
}

func TestB50NobodyIsAskedAnything(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	for _, box := range []*sandbox.Sandbox{p.box(nil), p.box(off)} {
		for _, name := range []string{"interactive", "terminal"} {
			if name == "terminal" && box.Off() { // who runs these tests may have one; a session without is tested below
				continue
			}
			p.isHeld(box, name)
		}
		for _, argv := range [][]string{
			{"cat"}, {"sh", "-c", "read x && echo got $x"}, {"sh"}, {"bash", "-i"}, {"sh", "-c", "exec $EDITOR file"}, {"sh", "-c", "echo x > /dev/tty"},
		} {
			var out bytes.Buffer
			began := time.Now()
			result, err := box.Run(t.Context(), sandbox.Command{Argv: argv, Output: &out})
			if err != nil || strings.Contains(out.String(), "got") || result.Signal != "" {
				t.Errorf("%q: %+v, %v, says %q", argv, result, err, &out)
			}
			if took := time.Since(began); took > soon {
				t.Errorf("%q took %v", argv, took)
			}
		}
	}
}
