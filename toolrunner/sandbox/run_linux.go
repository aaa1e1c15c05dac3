package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// plan is a way to give a command a world of its own.
type plan string

const (
	planMapped plan = "with a user namespace"
	planRoot   plan = "as root, without a user namespace"
)

func plans() []plan {
	if os.Geteuid() == 0 {
		return []plan{planMapped, planRoot}
	}
	return []plan{planMapped}
}

// try runs a command that does nothing and gives the layers around it.
func try(ctx context.Context, cfg Config, p plan) ([]string, error) {
	ctx, cancel := context.WithTimeout(ctx, maxHelloWait)
	defer cancel()
	s := &Sandbox{cfg: cfg, plan: p}
	c := Command{Argv: []string{"nothing"}, Output: io.Discard}
	o := s.order(c)
	o.Try = true
	_, said, err := s.start(ctx, o, c)
	switch {
	case err != nil:
		return nil, err
	case len(said.Layers) == 0:
		return nil, errors.New("the copy of this program said nothing")
	}
	return said.Layers, nil
}

func (s *Sandbox) order(c Command) order {
	program, _ := os.Executable() // empty is the path of no file
	return order{
		Program: program, Workspace: s.cfg.Workspace, Read: append(slices.Clone(s.cfg.Read), c.Read...),
		Environment: s.cfg.environment(c.Environment), Limits: s.cfg.Limits,
		Argv: c.Argv, Directory: c.Directory, Folder: c.Folder, Input: c.Input != nil, Network: c.Network, ReadOnly: c.ReadOnly, Mapped: s.plan == planMapped,
	}
}

func (s *Sandbox) runHeld(ctx context.Context, c Command) (Result, error) {
	began := time.Now()
	state, said, err := s.start(ctx, s.order(c), c)
	result := Result{Exit: -1, Limit: said.Limit, Ran: time.Since(began), Layers: said.Layers}
	switch {
	case errors.Is(err, errLost):
		return result, err
	case err != nil:
		return result, fmt.Errorf("%w: %w", ErrNotStarted, err)
	case said.Limit != "":
	case said.Ended != nil:
		result.Exit, result.Signal = said.Ended.Exit, said.Ended.Signal
	default: // the holder was killed with the command
		result.Signal = signalName(syscall.SIGKILL)
		if status, ok := state.Sys().(syscall.WaitStatus); ok && status.Signaled() {
			result.Signal = signalName(status.Signal())
		}
	}
	if ctx.Err() != nil {
		return result, ctx.Err()
	}
	return result, nil
}

// errLost means that a command was started, and nobody can say how it ended.
var errLost = errors.New("the command was lost sight of")

// start runs a copy of this program that holds the command, and returns when it
// and all it held have ended, with everything that it has said. An error means
// that no command has run, unless it is errLost.
func (s *Sandbox) start(ctx context.Context, o order, c Command) (*os.ProcessState, report, error) {
	var p pipes
	defer p.close()
	if err := p.open(c); err != nil {
		return nil, report{}, fmt.Errorf("sandbox: %w", err)
	}
	cmd := exec.Command("/proc/self/exe") //nolint:noctx // it is told to end before it is killed, see below
	cmd.Args, cmd.Env, cmd.Dir = []string{holderName}, []string{}, "/"
	p.written.into(cmd)
	if c.Input != nil { // a nil file would be no nil reader
		cmd.Stdin = c.Input
	}
	cmd.ExtraFiles = []*os.File{p.control.read, p.status.write}
	cmd.SysProcAttr = s.plan.attributes(s.cfg.Workspace, o.Network)
	if err := cmd.Start(); err != nil {
		return nil, report{}, fmt.Errorf("namespaces: %w", err)
	}
	p.closeOurs()
	closeAll(&c.Input)

	copied, heard := p.written.copy(c), make(chan report, 1)
	go func() { heard <- hear(p.status.read) }()
	stop := context.AfterFunc(ctx, func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // if it has ended already, all the better
	})
	defer stop()
	kill := afterEnd(ctx, termGrace, func() { _ = cmd.Process.Kill() })
	sent := json.NewEncoder(p.control.write).Encode(o) // fails only if it has ended, and then it has said why

	said := <-heard // until its end
	<-copied
	waited := cmd.Wait()
	kill()
	if exit := (*exec.ExitError)(nil); waited != nil && !errors.As(waited, &exit) {
		return nil, said, fmt.Errorf("%w: %w", errLost, waited)
	}
	switch {
	case said.Unheld != "":
		return nil, said, errors.New(said.Unheld)
	case said.NotStarted != "":
		return nil, said, errors.New(said.NotStarted)
	case said.Lost != "":
		return nil, said, fmt.Errorf("%w: %s", errLost, said.Lost)
	case ctx.Err() == nil && len(said.Layers) == 0:
		return nil, said, fmt.Errorf("sandbox: the holder ended without a word: %w", errors.Join(waited, sent))
	}
	return cmd.ProcessState, said, nil
}

// hear gathers reports until there can be no more.
func hear(r io.Reader) (all report) {
	for d := json.NewDecoder(r); ; {
		var one report
		if err := d.Decode(&one); err != nil {
			return all
		}
		all = all.and(one)
	}
}

func (r report) and(next report) report {
	if len(next.Layers) > 0 {
		r.Layers = append(r.Layers, next.Layers...)
	}
	if r.Unheld == "" {
		r.Unheld = next.Unheld
	}
	if r.NotStarted == "" {
		r.NotStarted = next.NotStarted
	}
	if r.Lost == "" {
		r.Lost = next.Lost
	}
	if r.Limit == "" {
		r.Limit = next.Limit
	}
	if r.Ended == nil {
		r.Ended = next.Ended
	}
	return r
}

// attributes are those of the holder. It has what it needs to make a world, and
// nothing outside of it.
func (p plan) attributes(workspace string, network bool) *syscall.SysProcAttr {
	a := &syscall.SysProcAttr{
		Setsid:     true,
		Cloneflags: unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS,
	}
	if !network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if p != planMapped {
		return a
	}
	a.Cloneflags |= unix.CLONE_NEWUSER
	outside, inside := ids(workspace)
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: inside.uid, HostID: outside.uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: inside.gid, HostID: outside.gid, Size: 1}}
	if os.Geteuid() == 0 {
		a.GidMappingsEnableSetgroups = true
		a.Credential = &syscall.Credential{Uid: uint32(inside.uid), Gid: uint32(inside.gid)}
	}
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETPCAP, unix.CAP_SYS_PTRACE, unix.CAP_KILL, unix.CAP_DAC_OVERRIDE,
	}
	return a
}

type identity struct{ uid, gid int }

// nobody is what a command sees itself as where it would else be root.
const nobody = 65534

// ids say as whom a command runs outside its user namespace, and inside. Root
// gives it to whoever owns the workspace.
func ids(workspace string) (outside, inside identity) {
	outside = identity{os.Geteuid(), os.Getegid()}
	if info, err := os.Stat(workspace); err == nil && outside.uid == 0 {
		if owner, ok := info.Sys().(*syscall.Stat_t); ok {
			outside = identity{int(owner.Uid), int(owner.Gid)}
		}
	}
	inside = outside
	if inside.uid == 0 {
		inside.uid = nobody
	}
	if inside.gid == 0 {
		inside.gid = nobody
	}
	return outside, inside
}
