package webhook

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/metric/noop"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/cloudevents"
)

// Queue hands over the commits of one shard of the log for one hook, in order: the
// next only when the one before is settled. Its position is kept elsewhere.
type Queue interface {
	Next(ctx context.Context) (protocol.Delivery, error)
}

// Config is what webhooks are sent with.
type Config struct {
	File File

	// Open gives the queues of a hook, one for each shard.
	Open func(ctx context.Context, h Hook) ([]Queue, error)

	Sender *Sender

	// FirstWait and MaxWait bound the pause before an event is sent again; it doubles
	// in between. Defaults: [DefaultFirstWait], [DefaultMaxWait].
	FirstWait time.Duration
	MaxWait   time.Duration

	// HoldEvery is how often a queue is told that a commit is still being sent: well
	// within the ack wait of its consumer. Default: [DefaultHoldEvery].
	HoldEvery time.Duration

	Clock func() time.Time // default: time.Now
	Log   *slog.Logger     // default: nothing is logged
	Meter metric.Meter     // default: nothing is counted
}

// Settings that nobody chose.
const (
	DefaultFirstWait = time.Second
	DefaultMaxWait   = 5 * time.Minute
	DefaultHoldEvery = 3 * time.Second

	// maxRefusals is how often an event is sent that its receiver does not want.
	maxRefusals = 5

	openWait = 2 * time.Second // before queues are opened once more
)

// Run sends what happens until ctx ends. A hook whose receiver is away holds back no
// other.
func Run(ctx context.Context, cfg Config) error {
	if cfg.Open == nil || cfg.Sender == nil {
		return errors.New("webhooks: want queues and a sender")
	}
	cfg.FirstWait, cfg.MaxWait = cmp.Or(cfg.FirstWait, DefaultFirstWait), cmp.Or(cfg.MaxWait, DefaultMaxWait)
	cfg.HoldEvery = cmp.Or(cfg.HoldEvery, DefaultHoldEvery)
	if cfg.Clock == nil {
		cfg.Clock = time.Now
	}
	if cfg.Log == nil {
		cfg.Log = slog.New(slog.DiscardHandler)
	}
	if cfg.Meter == nil {
		cfg.Meter = noop.NewMeterProvider().Meter("")
	}
	counted, err := newMetrics(cfg.Meter)
	if err != nil {
		return fmt.Errorf("webhooks: metrics: %w", err)
	}
	dead := &letters{path: cfg.File.DeadLetters}
	var running sync.WaitGroup
	for _, h := range cfg.File.Hooks {
		running.Go(func() {
			r := runner{cfg: cfg, hook: h, dead: dead, log: cfg.Log.With("webhook", h.Name), metrics: counted.of(h.Name)}
			r.run(ctx)
		})
	}
	running.Wait()
	return nil
}

// runner sends the events of one hook.
type runner struct {
	cfg     Config
	hook    Hook
	dead    *letters
	log     *slog.Logger
	metrics hookMetrics
}

// run opens the queues, again and again until that works, and works through them.
func (r *runner) run(ctx context.Context) {
	ctx, gone := context.WithCancel(ctx) // ends when the receiver wants nothing any more
	defer gone()
	for told := false; ; told = true {
		queues, err := r.cfg.Open(ctx, r.hook)
		if err == nil {
			var shards sync.WaitGroup
			for _, q := range queues {
				shards.Go(func() { r.work(ctx, q, gone) })
			}
			shards.Wait()
			return
		}
		if !told && ctx.Err() == nil {
			r.log.WarnContext(ctx, "what happens cannot be read yet", "error", err)
		}
		if !pause(ctx, openWait) {
			return
		}
	}
}

// work sends what a queue hands over.
func (r *runner) work(ctx context.Context, q Queue, gone func()) {
	for ctx.Err() == nil {
		d, err := q.Next(ctx)
		if err != nil {
			if ctx.Err() == nil {
				r.log.WarnContext(ctx, "what happens cannot be read now", "error", err)
			}
			pause(ctx, openWait)
			continue
		}
		r.commit(ctx, d, gone)
	}
}

// commit sends the events of a commit, and settles it when each was taken or set
// aside.
func (r *runner) commit(ctx context.Context, d protocol.Delivery, gone func()) {
	holding, release := context.WithCancel(ctx)
	var holder sync.WaitGroup
	holder.Go(func() {
		for pause(holding, r.cfg.HoldEvery) {
			_ = d.InProgress(holding) // if that is lost it comes twice
		}
	})
	err := r.events(ctx, d.Body())
	release()
	holder.Wait()
	switch {
	case err == nil:
		err = d.Ack(ctx)
	case ctx.Err() != nil:
		err = d.Later(context.WithoutCancel(ctx), 0) // for the next process
	default:
		if failed, ok := errors.AsType[*FailedError](err); ok && failed.Gone() {
			r.log.ErrorContext(ctx, "the receiver is gone for good and gets nothing any more; what it missed waits in the log", "error", err)
			gone()
		} else {
			r.log.ErrorContext(ctx, "an event was neither sent nor set aside", "error", err)
			pause(ctx, openWait)
		}
		err = d.Later(ctx, 0)
	}
	if err != nil {
		r.log.DebugContext(ctx, "a commit was not settled, so it comes again", "error", err)
	}
}

// events sends those of a commit that the hook wants, in order.
func (r *runner) events(ctx context.Context, commit []byte) error {
	list, err := cloudevents.Of(commit)
	if err != nil {
		r.metrics.add(ctx, r.metrics.left)
		r.log.WarnContext(ctx, "a commit that nobody can read was left out", "error", err)
		return nil
	}
	for _, e := range list {
		if !r.hook.wants(e.Type) {
			continue
		}
		if err := r.event(ctx, e); err != nil {
			return err
		}
	}
	return nil
}

// event sends one event until it is taken, or sets it aside.
func (r *runner) event(ctx context.Context, e cloudevents.Event) error {
	begun, wait, refusals := r.cfg.Clock(), r.cfg.FirstWait, 0
	for tries := 1; ; tries++ {
		err := r.cfg.Sender.Send(ctx, r.hook, e)
		failed, ok := errors.AsType[*FailedError](err)
		if !ok { // it was taken, or the process is to end
			if err == nil {
				r.metrics.add(ctx, r.metrics.taken)
			}
			return err
		}
		r.metrics.add(ctx, r.metrics.failed)
		if failed.Gone() {
			return err
		}
		if failed.Refused() {
			refusals++
		}
		left := r.hook.RetryFor - r.cfg.Clock().Sub(begun)
		if refusals >= maxRefusals || left <= 0 {
			return r.setAside(ctx, e, err, tries)
		}
		if tries == 1 {
			r.log.WarnContext(ctx, "an event was not taken, and is sent again", "event", e.ID, "error", err)
		}
		// It is tried once more at the end, however long the receiver asks to wait: else
		// one that does would have all that waits set aside at once.
		if !pause(ctx, min(max(wait, failed.RetryAfter), left)) {
			return ctx.Err()
		}
		wait = min(2*wait, r.cfg.MaxWait)
	}
}

// setAside gives an event up.
func (r *runner) setAside(ctx context.Context, e cloudevents.Event, why error, tries int) error {
	if err := r.dead.add(letterOf(r.hook, e, why, tries, events.At(r.cfg.Clock()))); err != nil {
		return err
	}
	r.metrics.add(ctx, r.metrics.setAside)
	r.log.ErrorContext(ctx, "an event was set aside; `everturn webhooks redrive` sends it again", "event", e.ID, "tries", tries, "error", why)
	return nil
}

// pause waits, and reports whether ctx goes on.
func pause(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}
