package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

const (
	// maxRequestBytes bounds a request's body before it is read: a chunk in
	// base64 with what is around it.
	maxRequestBytes = 512 << 10

	// maxWordBytes bounds an id that a runner mints.
	maxWordBytes = 64

	// busyFor is what a runner is told to wait when its claim cannot be decided.
	busyFor = 2 * time.Second
)

// handlers answer the requests of tool runners. What they do ends with working.
func (o *Orchestrator) handlers(working context.Context) protocol.Handlers {
	ofChat := func(answer func(context.Context, events.Key, []byte) any, crowded any) func(context.Context, events.Key, protocol.Request) {
		return func(_ context.Context, k events.Key, r protocol.Request) {
			o.answer(working, k, r, crowded, func() any { return answer(working, k, r.Body()) })
		}
	}
	ofGroup := func(answer func(context.Context, events.Key, string, []byte) any, crowded any) func(context.Context, events.Key, protocol.Request) {
		return func(_ context.Context, k events.Key, r protocol.Request) {
			group := r.Header(protocol.HeaderGroup)
			o.answer(working, k, r, crowded, func() any { return answer(working, k, group, r.Body()) })
		}
	}
	return protocol.Handlers{
		Claim:    ofGroup(o.claim, unclear("too many requests")),
		Result:   ofGroup(o.result, protocol.ResultAnswer{Answer: protocol.ResultUnavailable, Why: "too many requests"}),
		Ask:      ofGroup(o.askPerson, protocol.AskAnswer{Answer: protocol.AskUnavailable, Why: "too many requests"}),
		Upload:   ofGroup(o.upload, protocol.UploadAnswer{Error: "too many requests", Code: events.CodeUnavailable}),
		Download: ofChat(o.download, protocol.DownloadAnswer{Error: "too many requests", Code: events.CodeUnavailable}),
		Offer: func(_ context.Context, group string, r protocol.Request) {
			o.answer(working, events.Key{}, r, protocol.OfferAnswer{Refused: []string{"too many requests"}}, func() any {
				return o.offer(working, group, r.Body())
			})
		},
	}
}

// answer responds with what settle gives, unless too many requests are in hand.
// One that ends in a fault gets no answer: its sender asks again.
func (o *Orchestrator) answer(ctx context.Context, k events.Key, r protocol.Request, crowded any, settle func() any) {
	a := crowded
	if o.requests.try() {
		defer o.requests.free(1)
		if err := caught(func() error { a = settle(); return nil }); err != nil {
			o.fault(ctx, "request", k, err)
			return
		}
	}
	body, err := json.Marshal(a)
	if err != nil {
		panic(fmt.Sprintf("orchestrator: answer without JSON: %v", err)) // plain structs only
	}
	if err := r.Respond(body); err != nil {
		o.log.Debug("request not answered", "chat", k, "error", err)
	}
}

// unclear is the answer to a claim that nothing can be said about now.
func unclear(why string) protocol.ClaimAnswer {
	return protocol.ClaimAnswer{Answer: protocol.ClaimBusy, Why: why, RetryMS: busyFor.Milliseconds()}
}

// decodeRequest reads a request's body after a look at its size.
func decodeRequest[T any](body []byte, into *T) error {
	if len(body) > maxRequestBytes {
		return fmt.Errorf("body of %d bytes, at most %d are allowed", len(body), maxRequestBytes)
	}
	var err error
	if *into, err = protocol.Read[T](body); err != nil {
		return fmt.Errorf("body: %s", protocol.Unreadable(err))
	}
	return nil
}

// claimOf reads a claim that came from a group.
func claimOf(group string, body []byte) (chat.Claim, error) {
	m := chat.Claim{Group: group}
	if err := decodeRequest(body, &m.Claim); err != nil {
		return m, err
	}
	if c := m.Claim; c.Claim == "" || len(c.Claim) > maxWordBytes || c.Runner == "" || len(c.Runner) > maxWordBytes {
		return m, fmt.Errorf("claim, runner: want 1 to %d bytes each", maxWordBytes)
	}
	return m, nil
}

// resultOf reads a result that came from a group.
func resultOf(group string, body []byte) (chat.Result, error) {
	m := chat.Result{Group: group}
	if err := decodeRequest(body, &m.Result); err != nil {
		return m, err
	}
	if len(m.Runner) > maxWordBytes {
		return m, fmt.Errorf("runner: at most %d bytes are allowed", maxWordBytes)
	}
	return m, nil
}

// claim answers a runner that asks before an effect. The group is whose account
// the claim came from, if that is known.
func (o *Orchestrator) claim(ctx context.Context, k events.Key, group string, body []byte) any {
	m, err := claimOf(group, body)
	if err != nil {
		o.refusedRequest(ctx, "claim", k, err)
		return unclear(err.Error())
	}
	// An answer that comes after the licence has died is of no use.
	p := patience{until: time.Now().Add(events.Grant)}
	out, err := o.settleInTurn(ctx, k, m, p)
	if err == nil && out.decision.Ask != nil {
		m.Holder = o.askHolder(ctx, out.decision) // not in the mailbox: it may take its time
		out, err = o.settleInTurn(ctx, k, m, p)
	}
	switch {
	case err != nil:
		o.failedRequest(ctx, "claim", k, err)
		return unclear("the claim cannot be decided now")
	case out.decision.Claim == nil:
		return unclear("another runner was asked and changed meanwhile")
	}
	return *out.decision.Claim
}

// askHolder asks the process that holds an earlier claim whether it still runs.
func (o *Orchestrator) askHolder(ctx context.Context, d chat.Decision) chat.Holder {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	a, err := o.bus.Signals.AskRunner(ctx, d.AskRunner, *d.Ask)
	if err == nil && a.Running {
		return chat.HolderRunning
	}
	return chat.HolderSilent
}

// result takes what a runner reports after an effect. The group is whose account
// it came from, if that is known.
func (o *Orchestrator) result(ctx context.Context, k events.Key, group string, body []byte) any {
	m, err := resultOf(group, body)
	if err != nil {
		// Nobody can ever keep it. The call ends by its deadline.
		o.refusedRequest(ctx, "result", k, err)
		return protocol.ResultAnswer{Answer: protocol.ResultDropped, Why: err.Error()}
	}
	r := m.Result
	p := patience{until: time.Now().Add(o.cfg.ResultTime), stays: true}
	out, err := o.settleInTurn(ctx, k, m, p)
	if errors.Is(err, errTooLarge) {
		m.Result = protocol.Result{
			V: r.V, Call: r.Call, Rev: r.Rev, Runner: r.Runner, Status: r.Status, IsError: r.IsError, Timing: r.Timing, Truncated: true,
			Artifacts: r.Artifacts,
			Parts:     []events.Part{events.Text("(the output was too large to be kept)")},
		}
		out, err = o.settleInTurn(ctx, k, m, p)
	}
	if err != nil || out.decision.Result == nil {
		o.failedRequest(ctx, "result", k, err)
		return protocol.ResultAnswer{Answer: protocol.ResultUnavailable, Why: "the result cannot be kept now"}
	}
	a := *out.decision.Result
	a.Rev = out.entry.state.Rev()
	if !out.committed {
		o.metrics.late.add(ctx, "result")
	}
	return a
}

// failedRequest counts and reports a request that could not be settled now.
func (o *Orchestrator) failedRequest(ctx context.Context, kind string, k events.Key, err error) {
	switch {
	case o.isFault(err):
		o.fault(ctx, kind, k, err)
	case o.isVersion(ctx, err):
		o.log.Info("chat left to a newer release", "chat", k, "error", err)
	default:
		o.log.Warn(kind+" not settled", "chat", k, "error", err)
	}
	o.metrics.refused.add(ctx, kind)
}

// refusedRequest counts and reports a request that nobody can do anything with.
func (o *Orchestrator) refusedRequest(ctx context.Context, kind string, k events.Key, err error) {
	o.metrics.refused.add(ctx, kind)
	o.log.Warn(kind+" refused", "chat", k, "error", err)
}
