package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"time"
)

// lingering is how long output is waited for that a process might still write
// which nobody could find and end.
const lingering = 500 * time.Millisecond

// runPlain runs a command with the sandbox off.
func (s *Sandbox) runPlain(ctx context.Context, c Command) (Result, error) {
	folder, err := realFolder(filepath.Join(s.cfg.Workspace, c.Directory))
	if err != nil || !within(folder, s.cfg.Workspace) {
		return Result{}, fmt.Errorf("%w: directory %.100q: it is no folder of the workspace", ErrNotStarted, c.Directory)
	}
	program, err := lookFor(c.Argv[0], folder, s.cfg.environment())
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	var output pipe
	if err := output.open(); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	defer closeAll(&output.read, &output.write)
	cmd := exec.Command(program) //nolint:noctx // it is told to end before it is killed; running what was approved is the point
	cmd.Args, cmd.Env, cmd.Dir = c.Argv, s.cfg.environment(), folder
	cmd.Stdout, cmd.Stderr = output.write, output.write
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("%w: %s", ErrNotStarted, explain(c.Argv[0], err))
	}
	closeAll(&output.write)
	copied := make(chan struct{})
	go func() { defer close(copied); drain(c.Output, output.read) }()
	group := func(signal syscall.Signal) func() {
		return func() { _ = syscall.Kill(-cmd.Process.Pid, signal) } // if it has ended, all the better
	}
	stop := context.AfterFunc(ctx, group(syscall.SIGTERM))
	defer stop()
	forget := afterEnd(ctx, termGrace, group(syscall.SIGKILL))
	waited := cmd.Wait()
	forget()
	group(syscall.SIGKILL)() // what it has left behind
	finish(&output, copied)

	result := Result{Exit: cmd.ProcessState.ExitCode(), Ran: time.Since(began)}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		result.Signal = signalName(status.Signal())
	}
	if exit := (*exec.ExitError)(nil); waited != nil && !errors.As(waited, &exit) {
		return result, fmt.Errorf("the command was lost sight of: %w", waited)
	}
	return result, ctx.Err()
}

// finish waits for the rest of the output, unless somebody holds on to it.
func finish(output *pipe, copied <-chan struct{}) {
	timer := time.NewTimer(lingering)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
		closeAll(&output.read)
		<-copied
	}
}

// afterEnd calls do when d has passed since the end of ctx, unless the function
// it gives is called before; that function waits.
func afterEnd(ctx context.Context, d time.Duration, do func()) (forget func()) {
	done, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case <-ctx.Done():
		case <-done:
			return
		}
		timer := time.NewTimer(d)
		defer timer.Stop()
		select {
		case <-timer.C:
			do()
		case <-done:
		}
	}()
	return func() { close(done); <-ended }
}

func within(path, folder string) bool {
	return path == folder || strings.HasPrefix(path, folder+"/")
}

// lookFor finds the program that a name means in a folder, by the PATH of env.
func lookFor(name, folder string, env []string) (string, error) {
	if strings.Contains(name, "/") {
		if !filepath.IsAbs(name) {
			name = filepath.Join(folder, name)
		}
		return name, nil // whether it can be run is seen when it is
	}
	for _, v := range env {
		path, ok := strings.CutPrefix(v, "PATH=")
		if !ok {
			continue
		}
		for _, place := range filepath.SplitList(path) {
			if !filepath.IsAbs(place) {
				continue // a program of the workspace has to be named as one
			}
			file := filepath.Join(place, name)
			if info, err := os.Stat(file); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
				return file, nil
			}
		}
	}
	return "", errors.New(explain(name, exec.ErrNotFound))
}
