package webhook

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// metrics are those of one process. Each is explained by its description below.
type metrics struct {
	taken    metric.Int64Counter
	failed   metric.Int64Counter
	setAside metric.Int64Counter
	left     metric.Int64Counter
}

func newMetrics(m metric.Meter) (metrics, error) {
	var errs []error
	counter := func(name, unit, description string) metric.Int64Counter {
		c, err := m.Int64Counter("everturn.webhook."+name, metric.WithUnit(unit), metric.WithDescription(description))
		errs = append(errs, err)
		return c
	}
	return metrics{
		taken:    counter("taken", "{event}", "Events that a receiver has taken, by webhook. One that was handed over twice counts twice."),
		failed:   counter("failed", "{try}", "Tries to hand over an event that failed, by webhook. Each is tried again, set aside, or waits in the log where its receiver is gone."),
		setAside: counter("set_aside", "{event}", "Events that were given up, by webhook, and wait for `everturn webhooks redrive`."),
		left:     counter("unreadable", "{commit}", "Commits left out since this release cannot read them, by webhook."),
	}, errors.Join(errs...)
}

// of are the metrics of one webhook.
func (m metrics) of(name string) hookMetrics {
	return hookMetrics{metrics: m, name: metric.WithAttributes(attribute.String("webhook", name))}
}

type hookMetrics struct {
	metrics

	name metric.MeasurementOption
}

func (m hookMetrics) add(ctx context.Context, c metric.Int64Counter) {
	c.Add(context.WithoutCancel(ctx), 1, m.name)
}
