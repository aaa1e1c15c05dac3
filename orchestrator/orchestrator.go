package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
	"github.com/everturn/everturn/internal/workers"
	"github.com/everturn/everturn/protocol"
)

const (
	// loopPause is how long a loop waits before it asks a port again that failed.
	loopPause = time.Second

	// firstLoopPause is how long one waits that ran well until then: after a
	// lost connection everything that hangs on the log should be there again soon.
	firstLoopPause = 50 * time.Millisecond

	// stoppedDelay is for how long the work of a stopped chat is given back: only
	// a restart, or another process, may see it otherwise.
	stoppedDelay = 30 * time.Second
)

// errStopping means that work was not begun, or not gone on with, because the
// orchestrator stops: its message goes back at once.
var errStopping = errors.New("the orchestrator is stopping")

// Orchestrator is one of any number of processes that move chats forward.
type Orchestrator struct {
	cfg     Config
	bus     Bus
	models  Models
	log     *slog.Logger
	metrics metrics
	tracer  *turntrace.Tracer

	boxes     *mailboxes
	cache     *cache
	faults    *faults
	tools     *registry
	agents    *agents
	skills    *skills
	manifests *manifests
	builtIns  map[events.Digest]*manifest // of the tools that the core knows
	attempts  *attempts
	heads     *heads
	snapshots *snapshots
	requests  slots
	line      *line
	shares    map[string]*share // of the pools that are asked here

	stopping chan struct{} // closed when the orchestrator is to stop
	untaking chan struct{} // closed when it takes no more messages
	stopOnce sync.Once
	ended    chan struct{} // closed when Run has returned

	mu      sync.Mutex
	started bool

	minting sync.Mutex
}

// New makes an orchestrator. All problems of the configuration are reported at
// once; nothing is touched before Run.
func New(cfg Config, bus Bus, models Models) (*Orchestrator, error) {
	cfg = cfg.withDefaults()
	m, err := newMetrics(cfg.Meter)
	errs := []error{cfg.problems(), err}
	if models == nil {
		errs = append(errs, errors.New("no models"))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("orchestrator: %w", err)
	}
	return &Orchestrator{
		cfg: cfg, bus: bus, models: models, log: cfg.Log, metrics: m, tracer: turntrace.New(cfg.Tracer),
		boxes: newMailboxes(), cache: newCache(cfg.CacheBytes), faults: newFaults(),
		tools: newRegistry(), agents: &agents{}, skills: newSkills(), manifests: newManifests(), builtIns: builtInManifests(), attempts: newAttempts(), heads: newHeads(),
		snapshots: newSnapshots(), requests: newSlots(cfg.Requests), shares: newShares(cfg.Pools), line: newLine(cfg.Mailboxes),
		stopping: make(chan struct{}), untaking: make(chan struct{}), ended: make(chan struct{}),
	}, nil
}

// Run works until ctx ends or [Orchestrator.Stop] is called, and waits for
// everything it started, for a model that does not let go not for ever. It may be
// called once. Troubles of the store do not end it: whatever fails is tried again.
//
// When it is told to end, no new message is taken. Messages not begun, and
// models that are being asked, go back to their queues at once. What is being
// written is finished, for at most [Config.StopTime]. Nothing is lost by that,
// nor by not waiting at all: every message comes again until it was settled.
func (o *Orchestrator) Run(ctx context.Context) error {
	if err := o.start(); err != nil {
		return err
	}
	defer close(o.ended)
	defer context.AfterFunc(ctx, o.halt)()

	taking, stopTaking := context.WithCancel(context.WithoutCancel(ctx))
	working, stopWork := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork()
	defer stopTaking()

	var loops, writer sync.WaitGroup
	var busy workers.Group // with what is not done in a mailbox
	writing, stopWriting := context.WithCancel(working)
	defer stopWriting()
	writer.Go(func() { o.writeSnapshots(writing) })
	loops.Go(func() { o.keepOn(taking, "watch the tools", o.watchTools) })
	if o.bus.Agents != nil {
		loops.Go(func() { o.keepOn(taking, "watch the agents", o.watchAgents) })
	}
	if o.bus.Skills != nil {
		loops.Go(func() { o.keepOn(taking, "watch the skills", o.watchSkills) })
	}
	loops.Go(func() {
		defer close(o.untaking)
		if o.toolsKnown() && o.skillsKnown() { // before that a turn would start without them
			o.takeAll(taking, working, &loops, &busy)
		}
	})

	<-o.stopping
	stopTaking()
	if o.cfg.StopTime > 0 {
		grace := time.AfterFunc(o.cfg.StopTime, stopWork)
		defer grace.Stop()
	} else {
		stopWork()
	}
	loops.Wait()
	busy.Wait()
	o.boxes.wait()
	stopWriting()
	writer.Wait()
	return nil
}

// Stop tells Run to end and waits until it has. It may be called at any time
// and more than once; a Run that comes after it ends at once.
func (o *Orchestrator) Stop() {
	o.halt()
	o.mu.Lock()
	started := o.started
	o.mu.Unlock()
	if started {
		<-o.ended
	}
}

func (o *Orchestrator) halt() { o.stopOnce.Do(func() { close(o.stopping) }) }

func (o *Orchestrator) start() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.started {
		return errors.New("orchestrator: Run was called before")
	}
	o.started = true
	return nil
}

func (o *Orchestrator) isStopping() bool {
	select {
	case <-o.stopping:
		return true
	default:
		return false
	}
}

// toolsKnown waits for the first list of tools; false means that it will not
// come any more.
func (o *Orchestrator) toolsKnown() bool {
	select {
	case <-o.tools.first:
		return !o.isStopping()
	case <-o.stopping:
		return false
	}
}

// takeAll starts every loop that takes messages, and waits for those that fetch them.
// They end with taking; what they have begun ends with working at the latest.
func (o *Orchestrator) takeAll(taking, working context.Context, loops *sync.WaitGroup, busy *workers.Group) {
	var takers sync.WaitGroup
	takers.Go(func() {
		o.take(taking, working, "commands", newSlots(o.cfg.Mailboxes), o.bus.Commands.Fetch, o.takeInLine)
	})
	takers.Go(func() {
		o.take(taking, working, "timers", newSlots(o.cfg.Timers), o.bus.Timers.FetchDue, func(ctx context.Context, d protocol.Delivery, done func()) {
			o.takeTimer(ctx, d, busy, done)
		})
	})
	takers.Go(func() {
		o.take(taking, working, "words between chats", newSlots(wordsAtOnce), o.bus.Work.FetchChat, func(ctx context.Context, d protocol.Delivery, done func()) {
			busy.Go(func() {
				defer done()
				o.handleWord(ctx, d)
			})
		})
	})
	for _, pool := range slices.Sorted(maps.Keys(o.cfg.Pools)) {
		share, asked := o.shares[pool]
		if !asked {
			continue
		}
		loops.Go(func() { o.keepFair(taking, working, share) })
		fetch := func(ctx context.Context, limit int) ([]protocol.Delivery, error) {
			return o.bus.Work.FetchModel(ctx, pool, limit)
		}
		takers.Go(func() {
			o.take(taking, working, "model attempts", newSlots(o.cfg.Pools[pool]), fetch, func(ctx context.Context, d protocol.Delivery, done func()) {
				busy.Go(func() {
					defer done()
					o.handleAttempt(ctx, d, share)
				})
			})
		})
	}
	loops.Go(func() {
		o.keepOn(taking, "serve requests", func(ctx context.Context) error { return o.bus.Requests.Serve(ctx, o.handlers(working)) })
	})
	loops.Go(func() {
		o.keepOn(taking, "listen for stops", func(ctx context.Context) error { return o.bus.Signals.Stops(ctx, o.attempts.stop) })
	})
	loops.Go(func() { o.keepBuiltIns(taking) })
	loops.Go(func() { o.sweepChats(taking, working) })
	loops.Go(func() { o.sweepCommands(taking, working) })
	loops.Go(func() { o.passTheLine(taking, working) })
	loops.Go(func() { o.keepOn(taking, "follow the log", o.followHeads) })
	takers.Wait()
}

// take fetches messages while there is room for them, until ctx ends. handle, which
// gets working with the message in it, must not block; it calls done when it is
// through with the message.
func (o *Orchestrator) take(
	ctx, working context.Context, what string, room slots,
	fetch func(context.Context, int) ([]protocol.Delivery, error), handle func(ctx context.Context, d protocol.Delivery, done func()),
) {
	for {
		free := room.take(ctx)
		if free == 0 {
			return
		}
		deliveries, err := fetch(ctx, free)
		room.free(max(free-len(deliveries), 0))
		for _, d := range deliveries {
			handle(protocol.WithDelivery(working, d), d, func() { room.free(1) })
		}
		if err != nil && ctx.Err() == nil {
			o.log.Warn("cannot fetch "+what, "error", err)
			pause(ctx, loopPause)
		}
	}
}

// keepOn calls do again when it ends before ctx does.
func (o *Orchestrator) keepOn(ctx context.Context, what string, do func(context.Context) error) {
	wait := firstLoopPause
	for ctx.Err() == nil {
		began := time.Now()
		err := do(ctx)
		if ctx.Err() != nil {
			return
		}
		if time.Since(began) > loopPause {
			wait = firstLoopPause
		}
		o.log.Warn("cannot "+what, "error", err)
		pause(ctx, wait)
		wait = min(2*wait, loopPause)
	}
}

// pause waits for d, or until ctx ends, and says whether d passed.
func pause(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// newID mints the id of a commit, one at a time.
func (o *Orchestrator) newID() string {
	o.minting.Lock()
	defer o.minting.Unlock()
	return o.cfg.NewID()
}

// live is the configuration in force now for the chats of a tenant.
func (o *Orchestrator) live(tenant string) chat.Live {
	return chat.Live{
		Defaults: o.cfg.Defaults, Agents: o.agents.of(tenant), Tools: o.tools.offered(), Skills: o.skills.of(tenant), Pools: o.cfg.ModelPools, Windows: o.cfg.Windows,
	}
}

// ack removes a message whose effects are all stored. If that fails it comes
// again, and changes nothing.
func (o *Orchestrator) ack(ctx context.Context, d protocol.Delivery) error {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	if err := d.Ack(ctx); err != nil {
		return fmt.Errorf("acknowledge: %w", err)
	}
	return nil
}

// giveBack hands a message back that could not be settled. When the orchestrator stops
// that waits until nothing is fetched any more: it could come here once more, be given
// back again, and an attempt that is handed on twice is taken for lost twice.
func (o *Orchestrator) giveBack(ctx context.Context, d protocol.Delivery) {
	if o.isStopping() {
		select {
		case <-o.untaking:
		case <-ctx.Done():
		}
		o.later(ctx, d, 0)
		return
	}
	o.metrics.givenBack.Add(ctx, 1)
	o.later(ctx, d, o.cfg.RetryDelay)
}

// later hands a message back, also when everything else is being cancelled. If
// that fails it comes again after the ack wait.
func (o *Orchestrator) later(ctx context.Context, d protocol.Delivery, delay time.Duration) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), o.cfg.TryTimeout)
	defer cancel()
	if err := d.Later(ctx, delay); err != nil {
		o.log.Debug("message not given back", "subject", d.Subject(), "error", err)
	}
}

// endDelivery settles a delivery of work or of a timer by what became of it.
func (o *Orchestrator) endDelivery(ctx context.Context, d protocol.Delivery, where string, k events.Key, err error) {
	switch {
	case err == nil:
		err = o.ack(ctx, d)
		if err == nil {
			return
		}
	case errors.Is(err, errStopping):
	case isStopped(err):
		o.later(ctx, d, stoppedDelay)
		return
	case o.isFault(err):
		o.fault(ctx, where, k, err)
	case o.isVersion(ctx, err):
		o.log.Info("chat left to a newer release", "chat", k, "error", err)
	default:
		o.log.Warn(where+" given back", "chat", k, "subject", d.Subject(), "error", err)
	}
	o.giveBack(ctx, d)
}
