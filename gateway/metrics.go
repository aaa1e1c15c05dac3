package gateway

import (
	"context"
	"errors"
	"net/http"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are those of one gateway. Each is explained by its description below.
type metrics struct {
	requests metric.Int64Counter
	took     metric.Float64Histogram
	watchers metric.Int64UpDownCounter
	refused  metric.Int64Counter
	panics   metric.Int64Counter
}

func newMetrics(m metric.Meter) (metrics, error) {
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter("everturn.gateway."+name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	took, err := m.Float64Histogram("everturn.gateway.request.duration", metric.WithUnit("s"),
		metric.WithDescription("How long requests took, by route; those that watch are left out."),
		metric.WithExplicitBucketBoundaries(.002, .005, .01, .025, .05, .1, .25, 1, 5, 30))
	errs = append(errs, err)
	watchers, err := m.Int64UpDownCounter("everturn.gateway.watchers", metric.WithUnit("{watcher}"),
		metric.WithDescription("Requests that watch now."))
	errs = append(errs, err)
	return metrics{
		requests: counter("requests", "{request}", "Requests, by route and status."),
		took:     took,
		watchers: watchers,
		refused:  counter("refused", "{request}", "Requests that were turned away, by reason: no token that counts, another site, or a quota of the tenant."),
		panics:   counter("panics", "{request}", "Requests that panicked: our mistakes."),
	}, errors.Join(errs...)
}

// answered counts a request. Route is the pattern of its way in, never its address,
// which names chats.
func (m metrics) answered(ctx context.Context, route string, status int, took time.Duration, watched bool) {
	at := attribute.String("route", route)
	m.requests.Add(ctx, 1, metric.WithAttributes(at, attribute.String("status", strconv.Itoa(status))))
	if !watched {
		m.took.Record(ctx, took.Seconds(), metric.WithAttributes(at))
	}
}

// turnedAway counts a request that nobody was asked about.
func (m metrics) turnedAway(reason string) {
	m.refused.Add(context.Background(), 1, metric.WithAttributes(attribute.String("reason", reason)))
}

// answering notes with which status a request is answered.
type answering struct {
	http.ResponseWriter

	status int
}

// WriteHeader implements [http.ResponseWriter].
func (a *answering) WriteHeader(status int) {
	if a.status == 0 && status >= http.StatusOK {
		a.status = status
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (a *answering) Write(b []byte) (int, error) {
	if a.status == 0 {
		a.status = http.StatusOK
	}
	return a.ResponseWriter.Write(b)
}

// Unwrap lets [http.ResponseController] find what can be done with the connection.
func (a *answering) Unwrap() http.ResponseWriter { return a.ResponseWriter }
