package orchestrator

import (
	"context"
	"errors"
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
)

// metrics are those of one orchestrator. Each is explained by its description
// below. An undisturbed run leaves redispatched, lost, unknown and faults at 0.
type metrics struct {
	commits      *tally
	commitBytes  metric.Int64Counter
	conflicts    metric.Int64Counter
	resent       metric.Int64Counter
	found        metric.Int64Counter
	rejected     *tally
	helped       metric.Int64Counter
	givenBack    metric.Int64Counter
	redispatched metric.Int64Counter
	sweeps       metric.Int64Counter
	passed       metric.Int64Counter
	sweptLate    metric.Int64Counter
	late         *tally
	lost         metric.Int64Counter
	unknown      metric.Int64Counter
	faults       *tally
	undelivered  metric.Int64Counter
	versions     metric.Int64Counter
	stopped      metric.Int64Counter
	snapshots    metric.Int64Counter
	unsnapped    metric.Int64Counter
	refused      *tally
	attempts     *tally
	stoodBack    metric.Int64Counter
	running      metric.Int64UpDownCounter
	loads        *tally
	models       turntrace.Models
}

func newMetrics(m metric.Meter) (metrics, error) {
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter("everturn.orchestrator."+name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	running, err := m.Int64UpDownCounter("everturn.orchestrator.attempts.running", metric.WithUnit("{attempt}"),
		metric.WithDescription("Models being asked now."))
	errs = append(errs, err)
	models, err := turntrace.NewModels(m)
	errs = append(errs, err)
	return metrics{
		models:       models,
		commits:      by("cause", counter("commits", "{commit}", "Commits stored, by cause.")),
		commitBytes:  counter("commits.size", "By", "Their bytes."),
		conflicts:    counter("conflicts", "{commit}", "Commits not stored because somebody else was first."),
		resent:       counter("commits.resent", "{try}", "Tries that were repeated with the same bytes because nothing had been stored."),
		found:        counter("commits.found", "{commit}", "Commits whose confirmation was lost and that were found stored."),
		rejected:     by("code", counter("rejected", "{command}", "Commands answered with a no, by code.")),
		helped:       counter("helped", "{command}", "Commands decided for a delivery that somebody else holds."),
		givenBack:    counter("given_back", "{message}", "Messages given back because they could not be settled now."),
		redispatched: counter("redispatched", "{work}", "Work that a sweep found missing and stored again."),
		sweeps:       counter("sweeps", "{chat}", "Chats whose dispatch a sweep repeated."),
		passed:       counter("commands.passed", "{command}", "Commands handled ahead of a tenant's that has many in the queue."),
		sweptLate:    counter("sweeps.commands", "{command}", "Commands that a sweep found stored and old."),
		late:         by("kind", counter("late", "{result}", "Answers and results that came too late and were dropped, by kind.")),
		lost:         counter("attempts.lost", "{attempt}", "Attempts whose worker went away."),
		unknown:      counter("unknown", "{call}", "Calls settled as unknown: the effect may have happened."),
		faults:       by("where", counter("faults", "{fault}", "Panics, and bodies that could not be read, by what was handled.")),
		undelivered:  counter("undeliverable", "{command}", "Commands set aside after their faults."),
		versions:     counter("versions", "{message}", "Messages left to a newer release."),
		stopped:      counter("stopped", "{chat}", "Chats stopped because their log is damaged."),
		snapshots:    counter("snapshots", "{snapshot}", "Snapshots written."),
		unsnapped:    counter("snapshots.skipped", "{snapshot}", "Snapshots not written: too large, or not in time."),
		refused:      by("kind", counter("requests.refused", "{request}", "Requests answered with an error, by kind.")),
		attempts:     by("class", counter("attempts", "{attempt}", "Attempts that ended here, by class; ok is an answer.")),
		stoodBack:    counter("attempts.stood_back", "{attempt}", "Attempts that were put off because their tenant had its share of the pool."),
		running:      running,
		loads:        by("from", counter("loads", "{chat}", "States that were read from the log, by how far back.")),
	}, errors.Join(errs...)
}

// tally counts by one attribute. What says its value is made once: that costs
// more than counting.
type tally struct {
	counter metric.Int64Counter
	key     string

	mu    sync.RWMutex
	known map[string][]metric.AddOption
}

// maxTallied bounds the values that a tally remembers; there are no more than a few.
const maxTallied = 64

func by(key string, c metric.Int64Counter) *tally {
	return &tally{counter: c, key: key, known: make(map[string][]metric.AddOption)}
}

// add counts one with that value.
func (t *tally) add(ctx context.Context, value string) {
	t.mu.RLock()
	options, ok := t.known[value]
	t.mu.RUnlock()
	if !ok {
		options = []metric.AddOption{metric.WithAttributes(attribute.String(t.key, value))}
		t.remember(value, options)
	}
	t.counter.Add(ctx, 1, options...)
}

func (t *tally) remember(value string, options []metric.AddOption) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.known) < maxTallied {
		t.known[value] = options
	}
}

// stored counts a commit and what it says about calls and attempts.
func (m metrics) stored(ctx context.Context, c events.Commit, bytes int) {
	m.commits.add(ctx, string(c.Cause.Kind))
	m.commitBytes.Add(ctx, int64(bytes))
	for _, e := range c.Events {
		switch e := e.(type) {
		case events.CommandRejected:
			m.rejected.add(ctx, string(e.Code))
		case events.StepFailed:
			if e.Class == events.ClassCrashed {
				m.lost.Add(ctx, 1)
			}
		case events.ToolCompleted:
			if e.Status == events.ToolUnknown {
				m.unknown.Add(ctx, 1)
			}
		}
	}
}
