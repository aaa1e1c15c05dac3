package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
	"github.com/everturn/everturn/protocol"
)

// Pauses of a runner.
const (
	retryPause = time.Second     // before asking a port again that failed
	lastWords  = 5 * time.Second // for reporting calls that were cancelled because the runner stops
)

// Reasons for which a tool's context ends, as [context.Cause] gives them.
var (
	ErrTimeout   = errors.New("the tool's time is over")
	ErrNotWanted = errors.New("the call is not wanted any more")
	ErrStopping  = errors.New("the runner is stopping")
)

// Runner runs the tools of one group.
type Runner struct {
	cfg     Config
	bus     Bus
	tools   *toolset
	metrics metrics
	tracer  *turntrace.Tracer
	log     *slog.Logger
	claims  registry

	foreign struct { // calls of tools that are not here
		mu   sync.Mutex
		told time.Time // when one of them was told of
	}
}

// offered is a tool with what is known of it once and for all.
type offered struct {
	tool     Tool
	manifest protocol.Manifest
	digest   events.Digest
	settings events.Tool
	labels   labels
}

// New makes a runner for the tools. All problems of the configuration and of
// the manifests are reported at once; nothing is touched before Run.
func New(cfg Config, bus Bus, tools []Tool) (*Runner, error) {
	cfg = cfg.withDefaults()
	errs := []error{cfg.problems()}
	if len(tools) == 0 && len(cfg.Sources) == 0 {
		errs = append(errs, errors.New("no tools"))
	}
	m, err := newMetrics(cfg.Meter)
	errs = append(errs, err)

	r := &Runner{cfg: cfg, bus: bus, tools: newToolset(len(cfg.Sources)), metrics: m, tracer: turntrace.New(cfg.Tracer)}
	r.log = cfg.Log.With("group", cfg.Group, "process", cfg.Process)
	for _, t := range tools {
		errs = append(errs, r.add(t))
	}
	if err := errors.Join(errs...); err != nil {
		return nil, fmt.Errorf("tool runner: %w", err)
	}
	return r, nil
}

// add offers a tool for as long as the runner runs.
func (r *Runner) add(t Tool) error {
	one, err := r.checked(t)
	if err != nil {
		return err
	}
	if r.tools.named(one.manifest.Name) {
		return fmt.Errorf("manifest %q: there are two tools of this name", one.manifest.Name)
	}
	r.tools.add(one)
	return nil
}

// checked is a tool that this runner may offer.
func (r *Runner) checked(t Tool) (offered, error) {
	m := t.Manifest()
	if m.Group == "" {
		m.Group = r.cfg.Group
	}
	if err := m.Validate(); err != nil {
		return offered{}, err
	}
	if m.Group != r.cfg.Group {
		return offered{}, fmt.Errorf("manifest %q: group %q is not the runner's, %q", m.Name, m.Group, r.cfg.Group)
	}
	_, digest := m.Encode()
	return offered{tool: t, manifest: m, digest: digest, settings: m.Tool(), labels: labelsOf(m.Name)}, nil
}

// Run serves calls until ctx ends, and waits for everything it started.
//
// When ctx ends, no new call is taken. What has not been asked a licence for
// goes back to the queue at once. Running tools get [Config.Grace] to finish;
// then they are cancelled, and what became of them is reported. A tool that
// ignores its cancellation is left running and its call reported as unknown.
//
// Run may be called once.
func (r *Runner) Run(ctx context.Context) error {
	// Three lives: ctx is that of taking calls, a tool may outlive it by the
	// grace, and the report of a tool that was cancelled outlives the tool.
	working, stopWork := context.WithCancelCause(context.WithoutCancel(ctx))
	reporting, stopReports := context.WithCancel(context.WithoutCancel(ctx))
	defer stopWork(nil)
	defer stopReports()

	var listeners sync.WaitGroup
	listening, stopListening := context.WithCancel(context.WithoutCancel(ctx))
	listeners.Go(func() {
		r.keepOn(listening, "stops", func() error { return r.bus.Stops(listening, r.claims.stop) })
	})
	listeners.Go(func() {
		r.keepOn(listening, "questions about claims", func() error {
			return r.bus.Answer(listening, r.cfg.Process, r.claims.running)
		})
	})
	listeners.Go(func() { r.offers(ctx) })
	for i, source := range r.cfg.Sources {
		listeners.Go(func() { r.serveSource(listening, i, source) })
	}

	var calls sync.WaitGroup
	r.serve(ctx, working, reporting, &calls)

	ended := make(chan struct{})
	go func() { calls.Wait(); close(ended) }()
	if !within(ended, r.cfg.Grace) {
		stopWork(ErrStopping)
		if !within(ended, letGo+lastWords) {
			stopReports()
			<-ended
		}
	}
	stopListening()
	listeners.Wait()
	return nil
}

// within waits for c to be closed, for at most d, and says whether it was.
func within(c <-chan struct{}, d time.Duration) bool {
	if d <= 0 {
		select {
		case <-c:
			return true
		default:
			return false
		}
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-c:
		return true
	case <-timer.C:
		return false
	}
}

// job is a delivery to handle, under a claim of its own.
type job struct {
	delivery protocol.Delivery
	claim    string
}

// serve takes calls while there is room for them, until ctx ends. They are
// handled by workers, who are started when there is more in hand than before
// and stay: the stack of a goroutine has grown by the end of its first call,
// which is a good part of what that costs.
func (r *Runner) serve(ctx, working, reporting context.Context, calls *sync.WaitGroup) {
	room := make(chan struct{}, r.cfg.Concurrency)
	for range r.cfg.Concurrency {
		room <- struct{}{}
	}
	jobs := make(chan job, r.cfg.Concurrency) // never full: whoever returns room takes the next
	defer close(jobs)
	work := func() {
		for j := range jobs {
			r.handle(ctx, working, reporting, j)
			room <- struct{}{}
		}
	}
	for workers := 0; ctx.Err() == nil; {
		select {
		case <-room:
		case <-ctx.Done():
			return
		}
		free := 1 + drain(room)
		deliveries, err := r.bus.Fetch(ctx, r.cfg.Group, free)
		for range free - len(deliveries) {
			room <- struct{}{}
		}
		for ; workers < r.cfg.Concurrency-free+len(deliveries); workers++ {
			calls.Go(work)
		}
		for _, d := range deliveries {
			jobs <- job{delivery: d, claim: r.cfg.NewID()} // ids here, where one comes after the other
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("cannot fetch calls", "error", err)
			pause(ctx, retryPause)
		}
	}
}

// drain takes what is in c now.
func drain(c <-chan struct{}) int {
	n := 0
	for {
		select {
		case <-c:
			n++
		default:
			return n
		}
	}
}

// keepOn listens again when that ends before ctx does.
func (r *Runner) keepOn(ctx context.Context, what string, listen func() error) {
	for ctx.Err() == nil {
		if err := listen(); ctx.Err() == nil {
			r.log.Warn("listening ended", "to", what, "error", err)
			pause(ctx, retryPause)
		}
	}
}

// pause waits for d or for ctx to end, and says whether d passed.
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
