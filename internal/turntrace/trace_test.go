package turntrace_test

import (
	"context"
	"crypto/rand"
	"slices"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
	"github.com/everturn/everturn/protocol"
)

var ann = events.Key{Tenant: "acme", Chat: "ann"}

// ids is a generator as a process has it.
type ids struct{}

func (ids) NewIDs(ctx context.Context) (t trace.TraceID, s trace.SpanID) {
	if t, s, ok := turntrace.Wanted(ctx); ok {
		return t, s
	}
	_, _ = rand.Read(t[:])
	_, _ = rand.Read(s[:])
	return t, s
}

func (g ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	_, s := g.NewIDs(ctx)
	return s
}

// process is a tracer of its own, and what it exported.
func process(t *testing.T, options ...sdk.TracerProviderOption) (*turntrace.Tracer, *tracetest.SpanRecorder) {
	t.Helper()
	recorder := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(append(options, sdk.WithSpanProcessor(recorder), sdk.WithIDGenerator(ids{}))...)
	return turntrace.New(provider.Tracer("test")), recorder
}

func attempt(n int) protocol.ModelWork {
	return protocol.ModelWork{Tenant: ann.Tenant, Chat: ann.Chat, Step: events.StepID{Turn: 1, Step: 1}, Attempt: n}
}

func call() protocol.ToolWork {
	return protocol.ToolWork{Tenant: ann.Tenant, Chat: ann.Chat, Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Tool: "look"}
}

func ended() turntrace.Turn {
	return turntrace.Turn{Key: ann, Number: 1, Agent: "helper", Began: events.At(time.Now().Add(-time.Minute)), Ended: events.At(time.Now())}
}

func TestSpansOfAllProcessesMeetInOneTrace(t *testing.T) {
	t.Parallel()

	first, firstSpans := process(t)
	second, secondSpans := process(t)
	runner, runnerSpans := process(t)
	_, span := first.Attempt(t.Context(), attempt(1), "large")
	span.End(turntrace.Outcome{Error: "overloaded"})
	_, span = second.Attempt(t.Context(), attempt(2), "large")
	span.End(turntrace.Outcome{Provider: events.Provider{Name: "anthropic"}, Usage: events.Usage{Input: 3}})
	inside, span := runner.Call(t.Context(), call(), 1)
	span.End(turntrace.Outcome{})
	_, span = runner.Call(t.Context(), call(), 2)
	span.End(turntrace.Outcome{Error: "error"})
	second.Turn(t.Context(), ended())

	turn := secondSpans.Ended()[1]
	if turn.Name() != "invoke_agent helper" || turn.EndTime().Sub(turn.StartTime()) < time.Minute || turn.Parent().IsValid() {
		t.Errorf("the turn is %q of %v, below %v", turn.Name(), turn.EndTime().Sub(turn.StartTime()), turn.Parent().SpanID())
	}
	all := slices.Concat(firstSpans.Ended(), secondSpans.Ended(), runnerSpans.Ended())
	seen := map[trace.SpanID]string{}
	for _, s := range all {
		if s.SpanContext().TraceID() != turn.SpanContext().TraceID() {
			t.Errorf("%s is in another trace", s.Name())
		}
		if s != turn && s.Parent().SpanID() != turn.SpanContext().SpanID() {
			t.Errorf("%s is not below the turn", s.Name())
		}
		if other, twice := seen[s.SpanContext().SpanID()]; twice {
			t.Errorf("%s has the id of %s", s.Name(), other)
		}
		seen[s.SpanContext().SpanID()] = s.Name()
	}
	for i, pair := range [][2]sdk.ReadOnlySpan{
		{firstSpans.Ended()[0], secondSpans.Ended()[0]}, {runnerSpans.Ended()[0], runnerSpans.Ended()[1]},
	} {
		links := pair[1].Links()
		if len(links) != 1 || links[0].SpanContext.SpanID() != pair[0].SpanContext().SpanID() || len(pair[0].Links()) != 0 {
			t.Errorf("pair %d: the second links to %v", i, links)
		}
	}
	if trace.SpanFromContext(inside).SpanContext().SpanID() != runnerSpans.Ended()[0].SpanContext().SpanID() {
		t.Error("a tool cannot add spans to its own")
	}
	if _, _, still := turntrace.Wanted(inside); still {
		t.Error("what a tool begins would have the id of its own span")
	}
}

func TestWhoSentACommandIsLinkedTo(t *testing.T) {
	t.Parallel()

	tracer, spans := process(t)
	const sender = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
	tracer.Command(t.Context(), ann, "01K", "send", sender, 1, time.Now())
	tracer.Command(t.Context(), ann, "02K", "rename", "nonsense", 0, time.Now())
	tracer.Turn(t.Context(), ended())
	send, rename, turn := spans.Ended()[0], spans.Ended()[1], spans.Ended()[2]
	if l := send.Links(); len(l) != 1 || l[0].SpanContext.TraceID().String() != "0af7651916cd43dd8448eb211c80319c" {
		t.Errorf("links %v", l)
	}
	if send.SpanContext().TraceID() != turn.SpanContext().TraceID() || send.SpanKind() != trace.SpanKindConsumer {
		t.Errorf("%s is a %v of another trace", send.Name(), send.SpanKind())
	}
	if rename.SpanContext().TraceID() == turn.SpanContext().TraceID() || len(rename.Links()) != 0 || rename.Parent().IsValid() {
		t.Errorf("%s belongs to the turn", rename.Name())
	}
}

// All processes keep the same turns, whatever part of them is to be kept.
func TestASamplerDecidesForTheWholeTurn(t *testing.T) {
	t.Parallel()

	kept := 0
	for n := range 200 {
		tracer, spans := process(t, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(0.5))))
		other, otherSpans := process(t, sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(0.5))))
		work, end := call(), ended()
		work.Call.Turn, end.Number = n+1, n+1
		_, span := tracer.Call(t.Context(), work, 1)
		span.End(turntrace.Outcome{})
		other.Turn(t.Context(), end)
		if len(spans.Ended()) != len(otherSpans.Ended()) {
			t.Fatalf("turn %d: one process keeps %d spans, the other %d", n+1, len(spans.Ended()), len(otherSpans.Ended()))
		}
		kept += len(spans.Ended())
	}
	if kept < 50 || kept > 150 {
		t.Errorf("%d of 200 turns are kept, want about half", kept)
	}
}

func TestNoSpanHasContent(t *testing.T) {
	t.Parallel()

	tracer, spans := process(t)
	work := call()
	work.Arguments = []byte(`{"q":"s3cret"}`)
	_, span := tracer.Call(t.Context(), work, 1)
	span.End(turntrace.Outcome{Error: "error"})
	for _, a := range spans.Ended()[0].Attributes() {
		if strings.Contains(a.Value.String(), "s3cret") {
			t.Errorf("%s is %s", a.Key, a.Value.String())
		}
	}
}

func TestWithoutATracerNothingIsAllocated(t *testing.T) {
	var off *turntrace.Tracer
	ctx, model, tool, end := t.Context(), attempt(1), call(), ended()
	if n := testing.AllocsPerRun(100, func() {
		_, span := off.Attempt(ctx, model, "large")
		span.End(turntrace.Outcome{})
		_, span = off.Call(ctx, tool, 1)
		span.End(turntrace.Outcome{})
		off.Turn(ctx, end)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkWithoutATracer(b *testing.B) {
	var off *turntrace.Tracer
	ctx, model := b.Context(), attempt(1)
	b.ReportAllocs()
	for b.Loop() {
		_, span := off.Attempt(ctx, model, "large")
		span.End(turntrace.Outcome{})
	}
}
