package membus

import (
	"context"

	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/toolrunner"
)

// Process is a process as the bus sees it: whatever is done through its ports
// is done by it. Once killed it does nothing any more.
type Process struct {
	Name string

	server *Server
	ctx    context.Context
	kill   context.CancelFunc
}

// Process is a new process, alive until it is killed. Names are for telling
// processes apart; two of one name are two processes all the same.
func (s *Server) Process(name string) *Process {
	ctx, kill := context.WithCancel(context.Background())
	return &Process{Name: name, server: s, ctx: ctx, kill: kill}
}

// Kill ends the process as far as anybody outside can see: no operation of it
// has an effect from now on, and those that wait fail.
func (p *Process) Kill() { p.kill() }

// Killed reports whether it was killed.
func (p *Process) Killed() bool { return p.ctx.Err() != nil }

// Context ends when the process is killed.
func (p *Process) Context() context.Context { return p.ctx }

// Orchestrator gives the process's ports of an orchestrator.
func (p *Process) Orchestrator() orchestrator.Bus {
	return orchestrator.Bus{
		Log: log{p}, Commands: commands{p}, Work: work{p}, Timers: timers{p}, Requests: requests{p},
		Signals: signals{p}, Feed: feed{p}, Blobs: blobs{p}, Tools: tools{p}, Snapshots: snapshots{p}, Dead: dead{p},
	}
}

// Runner gives the process's ports of a tool runner.
func (p *Process) Runner() toolrunner.Bus { return runner{p} }
