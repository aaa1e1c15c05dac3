package bench

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
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
	s, err := o.sizes(ctx)
	if err != nil {
		return report, err
	}
	for n := range o.Pairs {
		o.Progress(fmt.Sprintf("pair %d of %d", n+1, o.Pairs))
		var p Pair
		p.Real, err = alone(ctx, o.real, func(e one) (Run, error) {
			if n == 0 && o.Profile != nil {
				if err := pprof.StartCPUProfile(o.Profile); err != nil {
					return Run{}, fmt.Errorf("bench: profile: %w", err)
				}
				defer pprof.StopCPUProfile()
			}
			return o.run(ctx, e)
		})
		if err != nil {
			return report, err
		}
		floor := func(ctx context.Context) (one, error) { return o.floor(ctx, s) }
		if p.Floor, err = alone(ctx, floor, func(f one) (Run, error) { return o.run(ctx, f) }); err != nil {
			return report, err
		}
		report.Pairs = append(report.Pairs, p)
	}
	report.summarize()
	if o.Growth {
		o.Progress("a growing chat")
		report.Growth, err = alone(ctx, o.real, func(e one) ([]Growth, error) { return e.growth(ctx, []int{2, 50, 200}, growthChats) })
		if err != nil {
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

// alone measures what start gives, and ends it. Each measurement has a server and
// a store of its own, and the memory of none before it: else it would pay for
// their timers, which are due half a minute after their turns, and for what their
// caches hold.
func alone[T any](ctx context.Context, start func(context.Context) (one, error), measure func(one) (T, error)) (result T, err error) {
	debug.FreeOSMemory()
	what, err := start(ctx)
	if err != nil {
		return result, err
	}
	result, err = measure(what)
	return result, errors.Join(err, what.close())
}

// real starts the real thing, and returns when it runs turns with the tool.
func (o Options) real(ctx context.Context) (one, error) {
	r, err := startReal(ctx, o.Always, o.Tool)
	if err != nil {
		return one{}, err
	}
	what := one{rig: r}
	if _, err := what.sizes(ctx); err != nil {
		return one{}, errors.Join(err, r.close())
	}
	return what, nil
}

// floor starts the floor, whose messages have these sizes.
func (o Options) floor(ctx context.Context, s sizes) (one, error) {
	r, err := startFloor(ctx, o.Always, o.Tool, s)
	return one{rig: r}, err
}

// sizes are those of the messages of a real turn.
func (o Options) sizes(ctx context.Context) (sizes, error) {
	return alone(ctx, o.real, func(what one) (sizes, error) { return what.sizes(ctx) })
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
		k, ended, err := o.chat(ctx)
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
			s.Create = commits[0]
			copy(s.Commits[:], commits[1:])
			return s, nil
		}
	}
	return s, fmt.Errorf("bench: no turn was run with the tool: %w", context.Cause(ctx))
}
