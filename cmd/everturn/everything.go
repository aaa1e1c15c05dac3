package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/models"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
	"github.com/everturn/everturn/toolrunner/mcp"
	"github.com/everturn/everturn/toolrunner/tools"
)

// everythingFlags are those of a process that holds every part.
type everythingFlags struct {
	models.Source
	cli.MetricsFlags
	tools.CommandConfig
	tools.FetchConfig
	declared.Files
	mcp.Flags

	Workspace string `type:"existingdir" default:"." help:"Folder the file tools may read. Nothing outside of it can be reached."`
	Write     bool   `default:"true" negatable:"" help:"Also offer write_file, edit_file, move_file and delete_file, which change files of that folder: each call waits until somebody approves it, unless the chat's mode is full. --no-write if not."`
}

// everything is every part in one process, on connections of their own to one
// server: the same parts that run as processes elsewhere.
type everything struct {
	shut  context.CancelFunc // ends the ways in, which end before what they ask
	doors sync.WaitGroup

	cancel context.CancelFunc
	parts  sync.WaitGroup
	last   []func() error // called in stop, when every part has ended

	servers *mcp.Servers // nil if there are none
	model   string       // of chats that name none

	mu    sync.Mutex
	errs  []error
	once  sync.Once
	ended chan struct{} // closed when a part has ended by itself
}

// start runs every part until stop is called, and returns when turns can
// be run, tools included. Without web there is no gateway, which ends with ctx, too.
func (f everythingFlags) start(ctx context.Context, s *surroundings, server *embedded.Server, web net.Listener) (*everything, error) {
	set, err := f.Source.Load()
	if err != nil {
		return nil, cli.Exit(cli.ExitUsage, err)
	}
	if set.Note != "" {
		fmt.Fprintln(s.stderr, "everturn:", set.Note)
	}
	workspace, err := tools.OpenWorkspace(f.Workspace)
	if err != nil {
		return nil, cli.Exit(cli.ExitUsage, err)
	}
	tooling := tools.Standard(workspace, time.Now)
	if f.Write {
		tooling = append(tooling, tools.Writing(workspace)...)
	}
	commands, err := f.CommandConfig.Open(ctx, s.launcher, f.Workspace)
	if err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	fetching, err := f.FetchConfig.Open()
	if err != nil {
		return nil, errors.Join(cli.Exit(cli.ExitUsage, err), workspace.Close())
	}
	tooling = slices.Concat(tooling, commands, fetching)
	own, err := f.Files.Open(ctx, s.launcher, tooling, declared.Options{Workspace: f.Workspace, Off: f.Off()})
	if err != nil {
		return nil, errors.Join(misdeclared(err), workspace.Close())
	}
	tooling = append(tooling, own...)
	log := s.log.Logger(s.stderr)
	if err := f.Flags.Validate(); err != nil {
		return nil, errors.Join(cli.Exit(cli.ExitUsage, err), workspace.Close())
	}
	servers, err := f.Flags.Open(ctx, s.launcher, f.Workspace, f.Sandbox, log)
	if err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	meter, stopMeter, err := f.Meter(ctx)
	if err != nil {
		return nil, errors.Join(err, workspace.Close())
	}
	tracer, stopTracing, err := cli.Tracing(ctx, "everturn", log)
	if err != nil {
		return nil, errors.Join(err, stopMeter(), workspace.Close())
	}
	inFront, shut := context.WithCancel(ctx)
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	e := &everything{servers: servers, model: set.Default, shut: shut, cancel: cancel, ended: make(chan struct{}), last: []func() error{stopTracing, stopMeter, workspace.Close}}
	ready, offered := make(chan struct{}), make(chan struct{})
	e.run(ctx, server, "orchestrator", func(nc *nats.Conn) error {
		cfg := orchestrator.Config{Log: log, Meter: meter, Tracer: tracer}
		f.Source.Configure(&cfg, set)
		return parts.RunOrchestrator(ctx, nc, parts.Topology{ManageAssets: true}, cfg, set.Find, func() { close(ready) })
	})
	select {
	case <-ready:
	case <-inFront.Done():
	case <-e.ended:
		return nil, e.stop()
	}
	e.run(ctx, server, "projections", func(nc *nats.Conn) error {
		return readside.RunProjections(ctx, nc, readside.Projections{
			Version: cli.Built().Version, Log: log, Store: filepath.Join(server.Store(), projectionsFolder),
		})
	})
	e.run(ctx, server, "toolrunner", func(nc *nats.Conn) error {
		cfg := toolrunner.Config{Log: log, Meter: meter, Tracer: tracer, Sources: servers.Sources(), Offered: sync.OnceFunc(func() { close(offered) })}
		return parts.RunTools(ctx, nc, cfg, tooling)
	})
	if web != nil {
		e.gateway(inFront, server, gateway.Config{Listener: web, Log: log, Meter: meter})
	}
	select {
	case <-offered:
	case <-inFront.Done():
	case <-e.ended:
		return nil, e.stop()
	}
	if err := forgetOthers(inFront, server, tooling, servers.Prefixes()); err != nil && inFront.Err() == nil {
		return nil, errors.Join(err, e.stop())
	}
	return e, nil
}

// run starts one part on a connection of its own.
func (e *everything) run(ctx context.Context, server *embedded.Server, name string, part func(nc *nats.Conn) error) {
	e.runAmong(ctx, &e.parts, server, name, part)
}

func (e *everything) runAmong(
	ctx context.Context, group *sync.WaitGroup, server *embedded.Server, name string, part func(nc *nats.Conn) error,
) {
	group.Go(func() {
		nc, err := server.Connect(name)
		if err == nil {
			err = part(nc)
			nc.Close() // the part has settled everything it had in hand by then
		}
		if err != nil {
			e.failed(fmt.Errorf("%s: %w", name, err))
		}
		if ctx.Err() == nil {
			e.once.Do(func() { close(e.ended) })
		}
	})
}

func (e *everything) failed(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.errs = append(e.errs, err)
}

// stop ends every part and waits for them: first the ways in, so that what was asked
// there is still answered.
func (e *everything) stop() error {
	e.shut()
	e.doors.Wait()
	e.cancel()
	e.parts.Wait()
	for _, f := range e.last {
		e.failed(f())
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return errors.Join(e.errs...)
}
