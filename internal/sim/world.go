package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/toolrunner"
)

// slot is a place for a process: one after the other runs in it.
type slot struct {
	name    string
	build   func(p *membus.Process) (func(context.Context) error, error)
	offset  time.Duration // of its clock
	number  int           // of the process that runs, or ran last
	process *membus.Process
	stop    context.CancelFunc
	ended   chan struct{} // closed when it has returned
	paused  time.Time     // until then it stands still
	again   time.Time     // when the next one starts, if none runs
}

// running reports whether the slot's process was neither killed nor has ended.
func (s *slot) running() bool {
	if s.process == nil || s.process.Killed() {
		return false
	}
	select {
	case <-s.ended:
		return false
	default:
		return true
	}
}

// world is everything of a run outside of the simulation's own decisions.
type world struct {
	plan     plan
	server   *membus.Server
	gate     *scheduler
	slots    []*slot
	provider *provider
	ledger   *ledger
	faulting bool // things still go wrong
	claimed  func(process string, k events.Key, call events.CallID) time.Time
	over     <-chan struct{} // closed when the run ends
	all      []chan struct{} // ended, of all processes there ever were
	failings failings        // what orchestrators say that they did wrong
	faulty   []error         // processes that could not be made, or ended by themselves
}

// Numbers of processes.
const (
	orchestrators = 3
	runners       = 2
)

func newWorld(p plan, over <-chan struct{}, watch *watcher) *world {
	w := &world{
		plan: p, gate: newScheduler(), over: over, claimed: watch.claimed, faulting: true,
		provider: newProvider(p.seed, p.badModel), ledger: newLedger(p.seed, p.on[faultTool]),
	}
	w.server = membus.New(membus.Options{AckWait: p.ackWait, Gate: w.gate, Observer: watch.observer()})
	for i := range orchestrators {
		s := &slot{name: fmt.Sprintf("o%d", i+1)}
		s.build = func(p *membus.Process) (func(context.Context) error, error) { return w.orchestrator(s, p) }
		w.slots = append(w.slots, s)
	}
	for i := range runners {
		s := &slot{name: fmt.Sprintf("r%d", i+1)}
		s.build = func(p *membus.Process) (func(context.Context) error, error) { return w.runner(s, p) }
		w.slots = append(w.slots, s)
	}
	return w
}

// ids mints the ids of one process.
func (w *world) ids(p *membus.Process) func() string {
	mint, n := newIDs(w.plan.seed, p.Name), 0
	return func() string {
		n++
		return mint(n)
	}
}

// smallWindow is how many tokens the model takes in some runs that calls tools: a
// few steps fill it. The other one takes anything.
const smallWindow = 400

func (w *world) windows() map[string]chat.Window {
	if readsMuch(w.plan.seed) {
		return readingWindows()
	}
	if draws(w.plan.seed, "window").IntN(4) != 0 {
		return nil
	}
	return map[string]chat.Window{modelCalls: {Tokens: smallWindow}}
}

func (w *world) orchestrator(s *slot, p *membus.Process) (func(context.Context) error, error) {
	o, err := orchestrator.New(orchestrator.Config{
		Pools: map[string]int{chat.DefaultPool: 2}, Mailboxes: 4, Timers: 4, Requests: 8,
		AckWait: w.plan.ackWait, Silence: time.Minute, ContentSilence: 2 * time.Minute,
		Windows:  w.windows(),
		Defaults: events.Settings{Model: modelSays}, Clock: s.clock, NewID: w.ids(p), Log: w.failings.of(p.Name),
	}, w.bus(s, p), w.provider.find)
	if err != nil {
		return nil, err
	}
	return o.Run, nil
}

func (w *world) runner(s *slot, p *membus.Process) (func(context.Context) error, error) {
	release := 0
	if w.plan.on[faultUpgrade] && w.faulting {
		release = numbered(w.plan.seed, "release", s.number).IntN(3)
	}
	r, err := toolrunner.New(toolrunner.Config{
		Group: group, Concurrency: 2, AckWait: w.plan.ackWait, Process: p.Name, Clock: s.clock, NewID: w.ids(p), OfferEvery: time.Hour,
	}, p.Runner(), w.tools(p, release))
	if err != nil {
		return nil, err
	}
	return r.Run, nil
}

// clock is the wall clock of the slot's machine.
func (s *slot) clock() time.Time { return time.Now().Add(s.offset) }

// start lets a new process run in the slot, with nothing in its memory.
func (w *world) start(s *slot) {
	s.number++
	p := w.server.Process(fmt.Sprintf("%s_%d", s.name, s.number))
	ctx, stop := context.WithCancel(p.Context())
	ended := make(chan struct{})
	s.process, s.stop, s.ended, s.paused, s.again = p, stop, ended, time.Time{}, time.Time{}
	w.all = append(w.all, ended)
	run, err := s.build(p)
	if err != nil {
		w.faulty = append(w.faulty, fmt.Errorf("%s: %w", p.Name, err))
		close(ended)
		return
	}
	go func() {
		defer close(ended)
		_ = run(ctx) // whatever it says: what it did is judged
	}()
}

// close ends every process and waits for it, in the time of the run.
func (w *world) close() error {
	for _, s := range w.slots {
		if s.process != nil {
			s.process.Kill()
		}
	}
	limit := time.After(closeTime)
	for _, ended := range w.all {
		select {
		case <-ended:
		case <-limit:
			return fmt.Errorf("a process that was killed does not end")
		}
	}
	return nil
}

// closeTime is how long killed processes may take to notice.
const closeTime = 10 * time.Minute
