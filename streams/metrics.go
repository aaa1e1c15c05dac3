package streams

import (
	"errors"

	"go.opentelemetry.io/otel/metric"
)

// metrics are those of a watch.
type metrics struct {
	full   metric.Int64Gauge
	unsafe metric.Int64Gauge
}

func newMetrics(m metric.Meter) (metrics, error) {
	full, err := m.Int64Gauge("everturn.streams.full", metric.WithUnit("%"),
		metric.WithDescription("How full each stream is, of its limit in bytes. 70 is warned of, 85 is an error in the log."))
	unsafe, unsafeErr := m.Int64Gauge("everturn.streams.unsafe", metric.WithUnit("{setting}"),
		metric.WithDescription("Settings with which a stream of the log could lose commits, by stream; anything but 0 needs a person now."))
	return metrics{full: full, unsafe: unsafe}, errors.Join(err, unsafeErr)
}
