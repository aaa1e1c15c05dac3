package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/pprof"
	"time"

	"github.com/everturn/everturn/streams"
)

// Options say what is measured. Zero means the default.
type Options struct {
	Always  bool          // sync every publish; else every two minutes
	Pairs   int           // of real thing and floor; default 5
	Turns   int           // of each sequential run; default 500
	Seconds time.Duration // of each concurrent run; default 10 s
	Chats   []int         // at once; default 16 and 64
	Growth  bool          // also measure turns 2, 50 and 200 of a chat
	Others  int           // also measure loading a chat among so many other events
	Tool    program       // starts the tool process

	Progress func(string) // told what is being done; may be nil
	Profile  io.Writer    // gets a CPU profile of the first real run; may be nil
}

const (
	defaultPairs   = 5
	defaultTurns   = 500
	defaultSeconds = 10 * time.Second
	growthChats    = 5
)

func (o Options) withDefaults() Options {
	if o.Pairs == 0 {
		o.Pairs = defaultPairs
	}
	if o.Turns == 0 {
		o.Turns = defaultTurns
	}
	if o.Seconds == 0 {
		o.Seconds = defaultSeconds
	}
	if o.Chats == nil {
		o.Chats = []int{16, 64}
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	return o
}

// Measure runs the workload in turns with the floor.
func Measure(ctx context.Context, o Options) (report Report, err error) {
	o = o.withDefaults()
	if _, err := processCPU(os.Getpid()); err != nil {
		return report, err // better now than after the first run
	}
	report.Sync = "default"
	if o.Always {
		report.Sync = "always"
	}
	everturn, err := startReal(ctx, o.Always, o.Tool)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, everturn.close()) }()
	s, err := one{rig: everturn, real: true}.sizes(ctx)
	if err != nil {
		return report, err
	}
	bare, err := startFloor(ctx, o.Always, o.Tool, s)
	if err != nil {
		return report, err
	}
	defer func() { err = errors.Join(err, bare.close()) }()

	for n := range o.Pairs {
		o.Progress(fmt.Sprintf("pair %d of %d", n+1, o.Pairs))
		var p Pair
		if n == 0 && o.Profile != nil {
			if err := pprof.StartCPUProfile(o.Profile); err != nil {
				return report, fmt.Errorf("bench: profile: %w", err)
			}
		}
		p.Real, err = o.run(ctx, one{rig: everturn, real: true})
		pprof.StopCPUProfile() // does nothing where none was started
		if err != nil {
			return report, err
		}
		if p.Floor, err = o.run(ctx, one{rig: bare}); err != nil {
			return report, err
		}
		report.Pairs = append(report.Pairs, p)
	}
	report.summarize()
	if o.Growth {
		o.Progress("a growing chat")
		if report.Growth, err = (one{rig: everturn, real: true}).growth(ctx, []int{2, 50, 200}, growthChats); err != nil {
			return report, err
		}
	}
	if o.Others > 0 {
		o.Progress("a chat among others")
		load, err := measureLoad(ctx, o, fullLoad)
		if err != nil {
			return report, err
		}
		report.Load = &load
	}
	return report, nil
}

func (o Options) run(ctx context.Context, what one) (r Run, err error) {
	if r.Sequential, err = what.sequential(ctx, o.Turns); err != nil {
		return r, err
	}
	for _, chats := range o.Chats {
		c, err := what.concurrent(ctx, chats, o.Seconds)
		if err != nil {
			return r, err
		}
		r.Concurrent = append(r.Concurrent, c)
	}
	return r, nil
}

// sizes runs turns until one was done with the tool, and gives its messages' sizes.
func (o one) sizes(ctx context.Context) (sizes, error) {
	var s sizes
	reader, err := streams.OpenReader(ctx, o.nc, streams.Options{})
	if err != nil {
		return s, err
	}
	defer reader.Close()
	for ctx.Err() == nil {
		k, ended, err := o.chat(ctx, true)
		if err != nil {
			return s, err
		}
		try, cancel := context.WithTimeout(ctx, time.Second)
		_ = o.turn(try, k, ended) // without the tool it ends otherwise than we wait for
		cancel()
		last, err := reader.Log.Last(ctx, k)
		if err != nil {
			return s, err
		}
		var commits []int
		for m, err := range reader.Log.Read(ctx, k, 0, last.Sequence) {
			if err != nil {
				return s, err
			}
			commits = append(commits, len(m.Body))
		}
		if len(commits) == 1+len(s.Commits) {
			copy(s.Commits[:], commits[1:])
			return s, nil
		}
	}
	return s, fmt.Errorf("bench: no turn was run with the tool: %w", context.Cause(ctx))
}
