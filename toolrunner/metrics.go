package toolrunner

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// metrics are those of one runner. Each is explained by its description below.
type metrics struct {
	deliveries  metric.Int64Counter
	redelivered metric.Int64Counter
	foreign     metric.Int64Counter
	malformed   metric.Int64Counter
	claims      metric.Int64Counter
	expired     metric.Int64Counter
	asks        metric.Int64Counter
	calls       metric.Int64Counter
	ran         metric.Float64Histogram
	panics      metric.Int64Counter
	abandoned   metric.Int64Counter
	results     metric.Int64Counter
	refused     metric.Int64Counter
	running     metric.Int64UpDownCounter

	answers map[string][]metric.AddOption // attributes of the answers we know
}

func newMetrics(m metric.Meter) (metrics, error) {
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter("everturn.toolrunner."+name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	ran, err := m.Float64Histogram("everturn.toolrunner.call.duration", metric.WithUnit("s"),
		metric.WithDescription("How long tools ran, by tool."),
		metric.WithExplicitBucketBoundaries(.005, .025, .1, .5, 1, 5, 15, 60, 120, 600))
	errs = append(errs, err)
	running, err := m.Int64UpDownCounter("everturn.toolrunner.running", metric.WithUnit("{call}"),
		metric.WithDescription("Calls in hand now."))
	errs = append(errs, err)
	answers := map[string][]metric.AddOption{}
	for _, a := range []string{
		string(protocol.ClaimGranted), string(protocol.ClaimOver), string(protocol.ClaimBusy),
		string(protocol.ResultCommitted), string(protocol.ResultDropped), string(protocol.ResultUnavailable), noAnswer,
		string(protocol.AskWaiting), string(protocol.AskAnswered), string(protocol.AskRefused),
	} {
		answers[a] = answered(a)
	}
	return metrics{
		answers:     answers,
		deliveries:  counter("deliveries", "{message}", "Calls taken from the queue."),
		redelivered: counter("redelivered", "{message}", "Of them, those that somebody had before."),
		foreign:     counter("foreign", "{message}", "Calls given back because this runner does not have that tool, or another version of it."),
		malformed:   counter("malformed", "{message}", "Calls that could not be read."),
		claims:      counter("claims", "{request}", "Licences asked for before an effect, by answer; none means that no answer came."),
		expired:     counter("grants.expired", "{request}", "Licences that came too late to be used and were asked for again."),
		asks:        counter("asks", "{request}", "Requests to ask a person in the middle of a call, by answer; each question makes some until it is answered."),
		calls:       counter("calls", "{call}", "Calls that ended here, by status and tool."),
		ran:         ran,
		panics:      counter("panics", "{call}", "Tools that panicked."),
		abandoned:   counter("abandoned", "{call}", "Tools that did not return when cancelled and were left behind."),
		results:     counter("results", "{request}", "Results sent, by answer; none means that no answer came, dropped that another result was first."),
		refused:     counter("offers.refused", "{manifest}", "Manifests that orchestrators refused."),
		running:     running,
	}, errors.Join(errs...)
}

// noAnswer stands for an answer that did not come.
const noAnswer = "none"

func (m metrics) claim(ctx context.Context, a protocol.ClaimVerdict) {
	m.claims.Add(ctx, 1, m.answer(string(a))...)
}

func (m metrics) result(ctx context.Context, a protocol.ResultVerdict) {
	m.results.Add(ctx, 1, m.answer(string(a))...)
}

func (m metrics) asked(ctx context.Context, a protocol.AskVerdict) {
	m.asks.Add(ctx, 1, m.answer(string(a))...)
}

func (m metrics) answer(a string) []metric.AddOption {
	if known, ok := m.answers[a]; ok {
		return known
	}
	return answered(a) // by a newer release
}

func answered(a string) []metric.AddOption {
	return []metric.AddOption{metric.WithAttributes(attribute.String("answer", a))}
}

func (m metrics) call(ctx context.Context, l labels, r protocol.Result) {
	m.calls.Add(ctx, 1, l.ended[r.Status]...)
	m.ran.Record(ctx, float64(r.Timing.RanMS)/millisecondsPerSecond, l.ran...)
}

// labels are the attributes of one tool's calls. They are made once, like those
// of answers: that costs more than counting.
type labels struct {
	ended map[events.ToolStatus][]metric.AddOption
	ran   []metric.RecordOption
}

func labelsOf(tool string) labels {
	name := attribute.String("tool", tool)
	l := labels{ended: map[events.ToolStatus][]metric.AddOption{}, ran: []metric.RecordOption{metric.WithAttributes(name)}}
	for _, s := range []events.ToolStatus{
		events.ToolOK, events.ToolError, events.ToolCancelled, events.ToolTimeout, events.ToolUnknown, // all that judge says
	} {
		l.ended[s] = []metric.AddOption{metric.WithAttributes(name, attribute.String("status", string(s)))}
	}
	return l
}

const millisecondsPerSecond = 1000
