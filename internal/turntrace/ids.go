package turntrace

import (
	"context"
	"crypto/sha256"

	"go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/events"
)

// traceID is that of a turn, or of what belongs to none: the beginning of the SHA-256 of
// what it is called.
func traceID(k events.Key, scope string) trace.TraceID {
	sum := sha256.Sum256([]byte("everturn trace\n" + k.Tenant + "\n" + k.Chat + "\n" + scope))
	return trace.TraceID(sum[:16])
}

// spanID is that of a span of a chat, by its name: "turn 3", "attempt 3.2-1",
// "call 3.2.1-1", "command" and its id.
func spanID(k events.Key, name string) trace.SpanID {
	sum := sha256.Sum256([]byte("everturn span\n" + k.Tenant + "\n" + k.Chat + "\n" + name))
	return trace.SpanID(sum[:8])
}

// contextOf is a span that somebody else began, or will.
func contextOf(k events.Key, scope, name string) trace.SpanContext {
	return trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: traceID(k, scope), SpanID: spanID(k, name), TraceFlags: trace.FlagsSampled, Remote: true,
	})
}

// wanted is the key of the ids that the next span is to have.
type wanted struct{}

type ids struct {
	trace trace.TraceID
	span  trace.SpanID
}

func want(ctx context.Context, t trace.TraceID, s trace.SpanID) context.Context {
	return context.WithValue(ctx, wanted{}, ids{t, s})
}

// Wanted are the ids that a span begun in ctx is to have. A generator of ids asks it
// first, and makes ids of its own for spans of which nothing is wanted.
func Wanted(ctx context.Context) (trace.TraceID, trace.SpanID, bool) {
	w, ok := ctx.Value(wanted{}).(ids)
	return w.trace, w.span, ok
}
