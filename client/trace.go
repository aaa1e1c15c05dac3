package client

import (
	"context"

	"github.com/nats-io/nats.go"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// carryTrace puts the trace that ctx belongs to, if it does, among the headers of a
// message. What is done because of the command links to it.
func carryTrace(ctx context.Context, h nats.Header) {
	if trace.SpanContextFromContext(ctx).IsValid() {
		propagation.TraceContext{}.Inject(ctx, carrier(h))
	}
}

// carrier is headers as the bus has them: their names are told apart by case, and are
// used as the propagator spells them.
type carrier nats.Header

// Get implements [propagation.TextMapCarrier].
func (c carrier) Get(key string) string {
	if v := c[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Set implements [propagation.TextMapCarrier].
func (c carrier) Set(key, value string) { c[key] = []string{value} }

// Keys implements [propagation.TextMapCarrier].
func (c carrier) Keys() []string {
	keys := make([]string, 0, len(c))
	for key := range c {
		keys = append(keys, key)
	}
	return keys
}
