package toolrunner

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/turntrace"
	"github.com/everturn/everturn/protocol"
)

// Times of a delivery.
const (
	alivePerAckWait = 5 // how often we speak up within one ack wait

	foreignAway    = time.Second      // before somebody else may have a call we cannot serve, times its deliveries, up to
	maxForeignAway = 15 * time.Second // which is often enough for a call nobody serves
	foreignTold    = time.Minute      // from one word on such calls to the next
	staleAfter     = time.Minute      // past its deadline a call has been settled; clocks agree within [events.Skew]
	maxCallAge     = 24 * time.Hour   // no deadline is farther away

	downloadAway = 5 * time.Second // before a call is tried again whose arguments could not be had
	downloadWait = 20 * time.Second
)

// settlement is what becomes of a delivery.
type settlement struct {
	ack  bool
	away time.Duration // if not ack
}

var acked = settlement{ack: true}

func later(d time.Duration) settlement { return settlement{away: d} }

// handle does everything about one delivery. Nothing new is begun after
// accepting has ended, no tool runs after working has, and nothing is sent
// after ctx.
func (r *Runner) handle(accepting, working, ctx context.Context, j job) {
	d := j.delivery
	r.metrics.deliveries.Add(ctx, 1)
	if d.Count() > 1 {
		r.metrics.redelivered.Add(ctx, 1)
	}
	r.metrics.running.Add(ctx, 1)
	defer r.metrics.running.Add(ctx, -1)

	hush := r.speakUp(ctx, d)
	end := r.serveCall(accepting, working, ctx, d, j.claim)
	hush()

	var err error
	if end.ack {
		err = d.Ack(ctx)
	} else {
		err = d.Later(ctx, end.away)
	}
	if err != nil { // it comes again, and then a claim says that it is over
		r.log.Debug("a call could not be settled in the queue", "subject", d.Subject(), "error", err)
	}
}

// speakUp tells the queue that the delivery is still in hand until the returned
// function is called, which waits for the last of it.
func (r *Runner) speakUp(ctx context.Context, d protocol.Delivery) (hush func()) {
	ctx, cancel := context.WithCancel(ctx)
	every := r.cfg.AckWait / alivePerAckWait
	wait := after(ctx, every, func() {
		for {
			if err := d.InProgress(ctx); err != nil && ctx.Err() == nil {
				r.log.Debug("the queue was not told of progress", "subject", d.Subject(), "error", err)
			}
			if !pause(ctx, every) {
				return
			}
		}
	})
	return func() { cancel(); wait() }
}

// after calls do in a goroutine of its own once d has passed, unless ctx has
// ended by then. The function it gives waits for the end of that, and is called
// after ctx has ended. Most calls are over before d: they cost no goroutine.
func after(ctx context.Context, d time.Duration, do func()) (wait func()) {
	ended := make(chan struct{})
	timer := time.AfterFunc(d, func() {
		defer close(ended)
		if ctx.Err() == nil {
			do()
		}
	})
	return func() {
		if !timer.Stop() {
			<-ended
		}
	}
}

// serveCall takes one delivery from the queue's bytes to an answered result.
func (r *Runner) serveCall(accepting, working, ctx context.Context, d protocol.Delivery, claim string) settlement {
	w, err := parseWork(d.Body())
	if err != nil {
		r.metrics.malformed.Add(ctx, 1)
		r.log.Error("a call cannot be read", "subject", d.Subject(), "error", err)
		return r.notServed(d, events.At(d.Stored().Add(maxCallAge)))
	}
	t, have := r.tools.find(w.Manifest)
	if !have || t.manifest.Name != w.Tool {
		r.metrics.foreign.Add(ctx, 1)
		r.tellForeign(w)
		return r.notServed(d, w.Deadline)
	}
	arguments, err := r.arguments(accepting, w)
	switch {
	case accepting.Err() != nil:
		return later(0)
	case err != nil:
		r.log.Warn("the arguments of a call cannot be had", "chat", w.Key(), "call", w.Call, "error", err)
		return later(downloadAway)
	}
	return r.runLicensed(working, ctx, w, t, arguments, protocol.Claim{
		V: protocol.Version, Call: w.Call, Rev: w.Rev, Claim: claim, Delivery: d.Count(), Runner: r.cfg.Process,
	})
}

// tellForeign says that runners of this group differ, which makes calls wait and is
// seen by nothing else here. While a release is rolled out that is as it should be.
func (r *Runner) tellForeign(w protocol.ToolWork) {
	r.foreign.mu.Lock()
	defer r.foreign.mu.Unlock()
	now := r.cfg.Clock()
	if now.Sub(r.foreign.told) < foreignTold {
		return
	}
	r.foreign.told = now
	r.log.Warn("a call was given back, since this runner has no such tool, or another form of it: the runners of a group should all have the same",
		"tool", w.Tool, "manifest", w.Manifest, "chat", w.Key(), "call", w.Call)
}

// notServed gives back what this runner cannot serve. Another one may; if none
// does, the deadline settles the call, and after that the message means nothing.
func (r *Runner) notServed(d protocol.Delivery, deadline events.Time) settlement {
	if events.At(r.cfg.Clock()) > deadline.Add(staleAfter) {
		return acked
	}
	return later(min(time.Duration(min(d.Count(), uint64(maxForeignAway/foreignAway)))*foreignAway, maxForeignAway))
}

// leniently takes names that stand twice and broken text, as encoding/json does,
// by which the arguments were judged. Its successor needs a third of the time.
var leniently = jsonv2.JoinOptions(jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))

// parseWork reads a call. What it cannot read may be from a newer release.
func parseWork(body []byte) (protocol.ToolWork, error) {
	var w protocol.ToolWork
	if err := jsonv2.Unmarshal(body, &w, leniently); err != nil {
		return w, fmt.Errorf("work: %w", err)
	}
	if w.V != protocol.Version {
		return w, fmt.Errorf("work: version %d is not known", w.V)
	}
	if err := w.Key().Validate(); err != nil {
		return w, fmt.Errorf("work: %w", err)
	}
	if w.Call.Ordinal == 0 {
		return w, errors.New("work: no call is named")
	}
	return w, nil
}

// arguments are those of the work, from the object store if they are large.
func (r *Runner) arguments(ctx context.Context, w protocol.ToolWork) (json.RawMessage, error) {
	if w.Blob == "" {
		if len(w.Arguments) == 0 {
			return json.RawMessage("{}"), nil
		}
		return w.Arguments, nil
	}
	ctx, cancel := context.WithTimeout(ctx, downloadWait)
	defer cancel()
	content, err := r.bus.Download(ctx, w.Key(), w.Blob)
	if err != nil {
		return nil, err
	}
	if len(content) > events.MaxArgumentsBytes || !json.Valid(content) {
		return nil, fmt.Errorf("%d bytes that are no arguments", len(content))
	}
	return content, nil
}

// runLicensed asks for the licence, runs the tool and reports.
func (r *Runner) runLicensed(
	working, reporting context.Context, w protocol.ToolWork, t offered, arguments json.RawMessage, c protocol.Claim,
) settlement {
	ctx, cancel := context.WithCancelCause(working)
	defer cancel(nil)
	e := &entry{chat: w.Key(), call: w.Call, claim: c.Claim, cancel: cancel}
	r.claims.add(e)
	defer r.claims.remove(e)

	call := Call{
		Chat: w.Key(), ID: w.Call, Arguments: arguments, Key: w.IdempotencyKey, Permissions: w.Permissions,
		Progress: r.progress(ctx, w.Key(), w.Call), Ask: r.asker(w, c).ask,
	}
	for {
		// Not ctx: while it is not known whether the licence was given, a stop
		// changes nothing; the next answer takes it into account.
		l := r.claim(working, e.chat, c)
		switch l.verdict {
		case protocol.ClaimOver:
			return acked
		case protocol.ClaimGranted:
		default:
			return later(l.away)
		}
		running, span := r.tracer.Call(ctx, w, c.Delivery)
		end := r.execute(running, t, call, r.timeout(w, t), l.until, func(ctx context.Context) {
			r.watch(ctx, e, c, w.Deadline.Add(-events.Dead))
		})
		if end.late { // nothing has begun: the span is nobody's
			r.metrics.expired.Add(reporting, 1)
			continue
		}
		if t.settings.Idempotent && errors.Is(end.cause, ErrStopping) && (!end.begun || end.err != nil) {
			span.End(turntrace.Outcome{Error: "stopping"})
			return later(0) // another process may run it again, as it would if this one had crashed
		}
		result := r.result(reporting, w, t, end)
		span.End(outcomeOf(result))
		if !r.report(reporting, e.chat, result) {
			return later(0)
		}
		return acked
	}
}

// outcomeOf is what a trace says of a result.
func outcomeOf(r protocol.Result) turntrace.Outcome {
	switch {
	case r.Status != events.ToolOK:
		return turntrace.Outcome{Error: string(r.Status)}
	case r.IsError:
		return turntrace.Outcome{Error: string(events.ToolError)}
	}
	return turntrace.Outcome{}
}

// timeout is the one the turn was started with; the manifest's stands in.
func (r *Runner) timeout(w protocol.ToolWork, t offered) time.Duration {
	ms := w.TimeoutMS
	if ms <= 0 {
		ms = t.settings.TimeoutMS
	}
	return time.Duration(ms) * time.Millisecond
}
