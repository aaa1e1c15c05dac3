package sandbox

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// lingering is how long output is waited for that a process might still write
// which nobody could find and end.
const lingering = 500 * time.Millisecond

// runPlain runs a command with the sandbox off.
func (s *Sandbox) runPlain(ctx context.Context, c Command) (Result, error) {
	folder, err := s.startsIn(c)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	environment := s.cfg.environment(c.Environment)
	program, err := lookFor(c.Argv[0], folder, environment)
	if err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	var written streams
	defer written.close()
	if err := written.open(c); err != nil {
		return Result{}, fmt.Errorf("%w: %w", ErrNotStarted, err)
	}
	cmd := exec.Command(program) //nolint:noctx // it is told to end before it is killed; running what was approved is the point
	cmd.Args, cmd.Env, cmd.Dir = c.Argv, environment, folder
	written.into(cmd)
	if c.Input != nil { // a nil file would be no nil reader
		cmd.Stdin = c.Input
	}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return Result{}, fmt.Errorf("%w: %s", ErrNotStarted, explain(c.Argv[0], err))
	}
	written.closeOurs()
	closeAll(&c.Input)
	copied := written.copy(c)
	group := func(signal syscall.Signal) func() {
		return func() { _ = syscall.Kill(-cmd.Process.Pid, signal) } // if it has ended, all the better
	}
	stop := context.AfterFunc(ctx, group(syscall.SIGTERM))
	defer stop()
	forget := afterEnd(ctx, termGrace, group(syscall.SIGKILL))
	waited := cmd.Wait()
	forget()
	group(syscall.SIGKILL)() // what it has left behind
	finish(&written, copied)

	result := Result{Exit: cmd.ProcessState.ExitCode(), Ran: time.Since(began)}
	if status, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && status.Signaled() {
		result.Signal = signalName(status.Signal())
	}
	if exit := (*exec.ExitError)(nil); waited != nil && !errors.As(waited, &exit) {
		return result, fmt.Errorf("the command was lost sight of: %w", waited)
	}
	return result, ctx.Err()
}

// startsIn is the folder that a command starts in.
func (s *Sandbox) startsIn(c Command) (string, error) {
	if c.Folder == "" {
		if _, err := os.Stat(s.cfg.Workspace); err != nil { // gone since the sandbox was opened
			return "", errors.New(explain(s.cfg.Workspace, err))
		}
		folder, err := realFolder(filepath.Join(s.cfg.Workspace, c.Directory))
		if err != nil || !within(folder, s.cfg.Workspace) {
			return "", fmt.Errorf("directory %.100q: it is no folder of the workspace", c.Directory)
		}
		return folder, nil
	}
	folder, err := realFolder(c.Folder)
	if err != nil || !withinAny(folder, s.cfg.folders(c.Read)) {
		return "", fmt.Errorf("folder %.100q: it is none that the command may read", c.Folder)
	}
	return folder, nil
}

// finish waits for the rest of the output, unless somebody holds on to it.
func finish(written *streams, copied <-chan struct{}) {
	timer := time.NewTimer(lingering)
	defer timer.Stop()
	select {
	case <-copied:
	case <-timer.C:
		written.close()
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

func withinAny(path string, folders []string) bool {
	return slices.ContainsFunc(folders, func(folder string) bool { return within(path, folder) })
}

// LookFor is the file of the program that a name means to a command of the folder: that
// path, relative to the folder, or in the PATH of its environment.
func (c Config) LookFor(name, folder string, environment []string) (string, error) {
	return lookFor(name, folder, c.environment(environment))
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
