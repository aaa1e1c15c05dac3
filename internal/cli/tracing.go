package cli

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	"go.opentelemetry.io/otel/sdk/trace"
	semconv "go.opentelemetry.io/otel/semconv/v1.41.0"
	api "go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/internal/turntrace"
)

// lastSpans is how long a process that ends tries to send the spans it still has.
const lastSpans = 5 * time.Second

// Tracing sends traces where the standard variables of OpenTelemetry say, until stop is
// called. Where they say nothing, the tracer is nil, and nothing is traced. Name is that
// of the service unless they have another.
func Tracing(ctx context.Context, name string, log *slog.Logger) (tracer api.Tracer, stop func() error, err error) {
	nothing := func() error { return nil }
	wanted, err := tracesWanted(os.Getenv)
	if err != nil || !wanted {
		return nil, nothing, err
	}
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return nil, nothing, Exit(ExitUsage, fmt.Errorf("traces: %w", err))
	}
	about, err := resource.New(ctx,
		resource.WithAttributes(semconv.ServiceName(name), semconv.ServiceVersion(Built().Version)),
		resource.WithTelemetrySDK(), resource.WithFromEnv())
	if err != nil {
		return nil, nothing, Exit(ExitUsage, fmt.Errorf("traces: %w", err))
	}
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { // the library's only way to say so
		log.Warn("traces not sent", "error", err)
	}))
	provider := trace.NewTracerProvider(trace.WithBatcher(exporter), trace.WithResource(about), trace.WithIDGenerator(ids{}))
	stop = func() error {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lastSpans)
		defer cancel()
		if err := provider.Shutdown(ctx); err != nil { // nobody ends otherwise because of spans
			log.Warn("the last traces were not sent", "error", err)
		}
		return nil
	}
	return provider.Tracer("github.com/everturn/everturn"), stop, nil
}

// tracesWanted reads which traces are to be sent. Only OTLP over HTTP is linked.
func tracesWanted(env func(string) string) (bool, error) {
	if strings.EqualFold(env("OTEL_SDK_DISABLED"), "true") {
		return false, nil
	}
	switch exporter := env("OTEL_TRACES_EXPORTER"); exporter {
	case "none":
		return false, nil
	case "otlp":
	case "":
		if env("OTEL_EXPORTER_OTLP_ENDPOINT") == "" && env("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") == "" {
			return false, nil
		}
	default:
		return false, Exit(ExitUsage, fmt.Errorf("OTEL_TRACES_EXPORTER: %q, want otlp or none", exporter))
	}
	for _, name := range []string{"OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"} {
		switch protocol := env(name); protocol {
		case "":
			continue
		case "http/protobuf":
			return true, nil
		default:
			return false, Exit(ExitUsage, fmt.Errorf("%s: %q, want http/protobuf", name, protocol))
		}
	}
	return true, nil
}

// ids makes the ids of spans: those that are wanted, or random ones.
type ids struct{}

// NewIDs implements [trace.IDGenerator].
func (ids) NewIDs(ctx context.Context) (t api.TraceID, s api.SpanID) {
	if t, s, ok := turntrace.Wanted(ctx); ok {
		return t, s
	}
	_, _ = rand.Read(t[:]) // it never fails
	_, _ = rand.Read(s[:])
	return t, s
}

// NewSpanID implements [trace.IDGenerator].
func (ids) NewSpanID(ctx context.Context, t api.TraceID) (s api.SpanID) {
	if wanted, s, ok := turntrace.Wanted(ctx); ok && wanted == t {
		return s
	}
	_, _ = rand.Read(s[:]) // it never fails
	return s
}
