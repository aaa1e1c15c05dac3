package mcp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

// Config is what all servers have in common. The zero value is a working one, but for
// servers that are programs, which need Launcher and Workspace.
type Config struct {
	// Launcher says that this program has called [sandbox.Enter].
	Launcher sandbox.Launcher

	// Workspace is the folder of servers that name none.
	Workspace string

	// SandboxOff runs all servers that are programs without a sandbox, whatever the
	// file says.
	SandboxOff bool

	// Times bounds how long servers are waited for. Zero values mean the defaults.
	Times Times

	// Log gets what an operator should know. Default: nothing is logged.
	Log *slog.Logger
}

// Times bounds how long servers are waited for.
type Times struct {
	Start   time.Duration // for its tools; then it is ended and tried again; default [DefaultStart]
	Slow    time.Duration // until it is said that there are none yet; default [DefaultSlow]
	Ready   time.Duration // that a call waits for a server that is being started again; default [DefaultReady]
	Ping    time.Duration // for a sign of life after a call without an answer; default [DefaultPing]
	Restart time.Duration // before it is started again, doubled each time up to 60 of it; default [DefaultRestart]
}

// Defaults of [Times].
const (
	DefaultStart   = 5 * time.Minute // some install themselves first
	DefaultSlow    = 10 * time.Second
	DefaultReady   = 15 * time.Second
	DefaultPing    = 5 * time.Second
	DefaultRestart = time.Second

	mostRestarts = 60 // times DefaultRestart, between two starts
)

func (t Times) withDefaults() Times {
	t.Start, t.Slow = cmp.Or(t.Start, DefaultStart), cmp.Or(t.Slow, DefaultSlow)
	t.Ready, t.Ping = cmp.Or(t.Ready, DefaultReady), cmp.Or(t.Ping, DefaultPing)
	t.Restart = cmp.Or(t.Restart, DefaultRestart)
	return t
}

// Servers are those of a file. They are a [toolrunner.Source], and serve one runner. Nil
// is no servers.
type Servers struct {
	list []*server

	mu   sync.Mutex
	have [][]toolrunner.Tool // of each; nil of one that has not named its tools
}

// Open makes servers of a file, and starts none. If one of them needs a sandbox it
// tries out whether there is one, and fails if not.
func Open(ctx context.Context, f File, cfg Config) (*Servers, error) {
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	all := &Servers{}
	var errs []error
	for _, entry := range f.Servers {
		one := &server{
			Server: entry, times: cfg.Times.withDefaults(), secrets: &f.secrets,
			log: cfg.Log.With("server", entry.Name), news: make(chan struct{}), why: errNotYet,
		}
		if entry.Command != "" {
			box, command, err := confine(ctx, entry, cfg)
			if err != nil {
				errs = append(errs, fmt.Errorf("mcp server %.40q: %w", entry.Name, err))
				continue
			}
			one.box, one.command = box, command
		}
		all.list = append(all.list, one)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	all.have = make([][]toolrunner.Tool, len(all.list))
	return all, nil
}

// Sources are the servers as a runner is given them.
func (s *Servers) Sources() []toolrunner.Source {
	if s == nil {
		return nil
	}
	return []toolrunner.Source{s}
}

// Prefixes are the beginnings of the names of all tools there may be.
func (s *Servers) Prefixes() (all []string) {
	if s == nil {
		return nil
	}
	for _, one := range s.list {
		all = append(all, prefix(one.Name)+separator)
	}
	return all
}

// Named gives the names of the tools there are, and the servers that have not named
// theirs yet.
func (s *Servers) Named() (tools, missing []string) {
	if s == nil {
		return nil, nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, one := range s.list {
		if s.have[i] == nil {
			missing = append(missing, one.Name)
		}
		for _, t := range s.have[i] {
			tools = append(tools, t.Manifest().Name)
		}
	}
	return tools, missing
}

// Serve implements [toolrunner.Source].
func (s *Servers) Serve(ctx context.Context, offer func([]toolrunner.Tool)) {
	var runs sync.WaitGroup
	for i, one := range s.list {
		runs.Go(func() {
			one.run(ctx, func(tools []toolrunner.Tool) {
				s.mu.Lock()
				defer s.mu.Unlock()
				s.have[i] = append([]toolrunner.Tool{}, tools...) // not nil, also if there are none
				offer(slices.Concat(s.have...))
			})
		})
	}
	runs.Wait()
}

// maxCPU is for a server's whole life: it is no command that comes to an end.
const maxCPU = 30 * 24 * time.Hour

// confine says how a server that is a program is run.
func confine(ctx context.Context, s Server, cfg Config) (*sandbox.Sandbox, sandbox.Command, error) {
	off := cfg.SandboxOff || s.Sandbox == sandboxOff
	box := sandbox.Config{Workspace: cmp.Or(s.Cwd, cfg.Workspace), Limits: sandbox.Limits{CPU: maxCPU}, Off: off}
	command := sandbox.Command{Argv: append([]string{s.Command}, s.Args...), Network: s.Network, ReadOnly: !s.Write}
	read := s.Read
	if filepath.IsAbs(s.Command) && !ofTheSystem(s.Command) {
		read = append(slices.Clone(read), s.Command)
	}
	if off {
		read = nil
		for _, name := range []string{"PATH", "HOME", "USER", "TMPDIR", "LANG"} {
			if value, ok := os.LookupEnv(name); ok {
				box.Environment = append(box.Environment, name+"="+value)
			}
		}
	}
	for _, path := range read {
		full, err := sandbox.Readable(path)
		if err != nil && path == s.Command {
			return nil, command, fmt.Errorf("command: %w", err)
		}
		if err != nil {
			return nil, command, fmt.Errorf("read: %w", err)
		}
		command.Read = append(command.Read, full)
	}
	for name, value := range s.Env {
		command.Environment = append(command.Environment, name+"="+value)
	}
	slices.Sort(command.Environment)
	opened, err := sandbox.Open(ctx, cfg.Launcher, box)
	if errors.Is(err, sandbox.ErrUnavailable) {
		return nil, command, fmt.Errorf("%w\n--sandbox=off runs servers without one, with all rights of this user", err)
	}
	return opened, command, err
}

// ofTheSystem says whether a program lies where each command may read.
func ofTheSystem(path string) bool {
	top, _, _ := strings.Cut(strings.TrimPrefix(filepath.Clean(path), "/"), "/")
	return slices.Contains([]string{"bin", "lib", "lib64", "sbin", "usr"}, top)
}
