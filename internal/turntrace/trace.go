// Package turntrace makes one OpenTelemetry trace of a turn, whichever processes work
// for it.
//
// Nothing is handed from one to the next: the ids of a turn's trace and of its spans
// follow from what the chat, the turn, the attempt and the call are called. So a process
// that takes over goes on in the same trace, and what was begun again is a span of its
// own that links to the one before it. Content is in no span.
//
// The span of a turn has no process that lives as long. Each that works for the turn
// begins it, since the sampler is to be asked; the one that writes down the turn's end
// ends it, and so exports it. If that process dies just then, there is none: a trace is
// no record, the log is.
package turntrace

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Tracer begins spans. A nil Tracer begins none and costs nothing.
type Tracer struct{ tracer trace.Tracer }

// New is nil if there is no tracer. Its ids must come from a generator that asks
// [Wanted] first.
func New(t trace.Tracer) *Tracer {
	if t == nil {
		return nil
	}
	return &Tracer{tracer: t}
}

// Span is work that goes on. A nil Span is work that nobody wants to see.
type Span struct {
	span  trace.Span
	facts Facts
}

// Attempt begins the span of an attempt, which ends when the model was heard out.
func (t *Tracer) Attempt(ctx context.Context, w protocol.ModelWork, model string) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	k, scope := w.Key(), turnName(w.Step.Turn)
	if w.Step.Turn == 0 { // outside of any turn, as for a title: a trace of its own
		scope = "step " + w.Step.String()
	}
	f := Facts{Operation: OperationChat, Key: k, Turn: w.Step.Turn, Model: model, Step: w.Step.String(), Attempt: w.Attempt}
	name := func(attempt int) string { return fmt.Sprintf("attempt %s-%d", w.Step, attempt) }
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient)}
	if w.Attempt > 1 {
		options = append(options, trace.WithLinks(linkTo(contextOf(k, scope, name(w.Attempt-1)), "the attempt before")))
	}
	return t.begin(ctx, scope, name(w.Attempt), f, options)
}

// Call begins the span of one run of a call, for that delivery of its work.
func (t *Tracer) Call(ctx context.Context, w protocol.ToolWork, delivery uint64) (context.Context, *Span) {
	if t == nil {
		return ctx, nil
	}
	k, scope := w.Key(), turnName(w.Call.Turn)
	f := Facts{Operation: OperationTool, Key: k, Turn: w.Call.Turn, Tool: w.Tool, Call: w.Call.String(), Delivery: delivery}
	name := func(delivery uint64) string { return fmt.Sprintf("call %s-%d", w.Call, delivery) }
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindInternal)}
	if delivery > 1 {
		options = append(options, trace.WithLinks(linkTo(contextOf(k, scope, name(delivery-1)), "the delivery before")))
	}
	return t.begin(ctx, scope, name(delivery), f, options)
}

// begin begins a span that belongs to a turn or, without one, is the first of its trace.
func (t *Tracer) begin(ctx context.Context, scope, name string, f Facts, options []trace.SpanStartOption) (context.Context, *Span) {
	parent := ctx
	if f.Turn > 0 {
		parent = trace.ContextWithRemoteSpanContext(ctx, t.turn(ctx, f.Key, f.Turn))
	} else {
		options = append(options, trace.WithNewRoot())
	}
	options = append(options, trace.WithAttributes(attributes(f)...))
	_, span := t.tracer.Start(want(parent, traceID(f.Key, scope), spanID(f.Key, name)), f.name(), options...)
	return trace.ContextWithSpan(ctx, span), &Span{span: span, facts: f}
}

// turn is what the span of a turn is known by, to whoever works for it.
func (t *Tracer) turn(ctx context.Context, k events.Key, turn int) trace.SpanContext {
	return t.startTurn(ctx, k, turn, Facts{Operation: OperationAgent, Key: k, Turn: turn}).SpanContext()
}

func (t *Tracer) startTurn(ctx context.Context, k events.Key, turn int, f Facts, options ...trace.SpanStartOption) trace.Span {
	options = append(options, trace.WithNewRoot(), trace.WithSpanKind(trace.SpanKindInternal))
	_, span := t.tracer.Start(want(ctx, traceID(k, turnName(turn)), spanID(k, turnName(turn))), f.name(), options...)
	return span
}

// Turn is a turn that has ended.
type Turn struct {
	Key    events.Key
	Number int
	Agent  string
	Model  string
	Parent *events.Parent // the call that the chat works for, in its first turn
	Began  events.Time
	Ended  events.Time
	Finish string
	Error  string // a class; empty if it did not fail
	Totals events.Totals
}

// Turn exports the span of a turn. Only who has written down its end calls it.
func (t *Tracer) Turn(ctx context.Context, e Turn) {
	if t == nil {
		return
	}
	f := Facts{
		Operation: OperationAgent, Key: e.Key, Turn: e.Number, Agent: e.Agent, Model: e.Model,
		Finish: e.Finish, Error: e.Error, Usage: e.Totals.Usage,
	}
	options := []trace.SpanStartOption{trace.WithTimestamp(e.Began.Time()), trace.WithAttributes(attributes(f)...)}
	if p := e.Parent; p != nil {
		k := events.Key{Tenant: e.Key.Tenant, Chat: p.Chat}
		options = append(options, trace.WithLinks(linkTo(contextOf(k, turnName(p.Call.Turn), turnName(p.Call.Turn)), "the turn it works for")))
	}
	span := t.startTurn(ctx, e.Key, e.Number, f, options...)
	fail(span, e.Error)
	span.End(trace.WithTimestamp(e.Ended.Time()))
}

// Command exports the span of a command that was decided just now. Turn is the one it
// belongs to, 0 for none; traceparent is what its sender wrote, and is linked to.
func (t *Tracer) Command(ctx context.Context, k events.Key, id, verb, traceparent string, turn int, began time.Time) {
	if t == nil {
		return
	}
	f := Facts{Operation: OperationCommand, Key: k, Turn: turn, Command: id, Verb: verb}
	scope, name := turnName(turn), "command "+id
	if turn == 0 {
		scope = name
	}
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(began)}
	if sender := Extract(traceparent); sender.IsValid() {
		options = append(options, trace.WithLinks(linkTo(sender, "who sent it")))
	}
	_, span := t.begin(ctx, scope, name, f, options)
	span.span.End()
}

// Outcome is what an attempt or a call came to.
type Outcome struct {
	Error    string // a class or a status; empty if it went well
	Provider events.Provider
	Finish   string
	Usage    events.Usage
	FirstMS  int64 // to the first piece of an answer
}

// End ends the span.
func (s *Span) End(o Outcome) {
	if s == nil {
		return
	}
	f := s.facts
	f.Error, f.Provider, f.Finish, f.Usage, f.FirstMS = o.Error, o.Provider, o.Finish, o.Usage, o.FirstMS
	s.span.SetAttributes(attributes(f)...)
	fail(s.span, o.Error)
	s.span.End()
}

// fail says that a span went wrong. What was said about it may be content, so the class
// has to do.
func fail(span trace.Span, class string) {
	if class != "" {
		span.SetStatus(codes.Error, class)
	}
}

func linkTo(c trace.SpanContext, what string) trace.Link {
	return trace.Link{SpanContext: c, Attributes: linkAttributes(what)}
}

func turnName(turn int) string { return "turn " + strconv.Itoa(turn) }

// Extract reads a traceparent; what is none gives a context that is not valid.
func Extract(traceparent string) trace.SpanContext {
	if traceparent == "" {
		return trace.SpanContext{}
	}
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier{protocol.HeaderTraceparent: traceparent})
	return trace.SpanContextFromContext(ctx)
}
