package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/model"
	"github.com/everturn/everturn/protocol"
)

// inProgressShare is how often within the ack wait a worker says that it is alive.
const inProgressShare = 5

// newsTakes is how long the news of a commit may take to whoever wrote it. For work
// that comes later the leader is asked: another replica may have ended it.
const newsTakes = 100 * time.Millisecond

// paid is the patience for what was paid for: as long as somebody wants it.
var paid = patience{stays: true}

// handleAttempt runs one attempt, from the delivery of its work to the end, unless its
// tenant has its share of the pool. What was begun before is ended in any case.
func (o *Orchestrator) handleAttempt(ctx context.Context, d protocol.Delivery, s *share) {
	work, err := protocol.Read[protocol.ModelWork](d.Body())
	if err != nil || work.Key().Validate() != nil {
		// The log has it right, and whoever sweeps the chat sends it again.
		o.fault(ctx, "attempt", work.Key(), errors.Join(errors.New("work cannot be read"), err))
		o.endDelivery(ctx, d, "attempt", work.Key(), nil)
		return
	}
	if d.Count() == 1 && !o.isStopping() {
		if !s.admit(work.Tenant, time.Now()) {
			o.standBack(ctx, d, work, s)
			return
		}
		defer s.release(work.Tenant)
	}
	hush := o.speakUp(ctx, d)
	l := &listener{o: o, key: work.Key(), work: work, poke: make(chan struct{}, 1)}
	defer l.letGo(ctx) // after the outcome is stored, or the work handed on: a model may take its time
	err = caught(func() error { return o.runAttempt(ctx, l, d.Count()) })
	hush()
	if d.Count() == 1 && o.isVersion(ctx, err) {
		o.passOn(ctx, d, work)
		return
	}
	o.endDelivery(ctx, d, "attempt", work.Key(), err)
}

// passOn hands on work that a newer release must do, as if it had never been
// delivered.
// Given back it would come to the next one as work that was begun, and so each
// attempt would be lost before its model is asked. While it is not stored the log
// still owes it: whoever can read the chat sends it again.
func (o *Orchestrator) passOn(ctx context.Context, d protocol.Delivery, w protocol.ModelWork) {
	o.log.Info("chat left to a newer release", "chat", w.Key())
	if err := o.ack(ctx, d); err != nil {
		o.giveBack(ctx, d)
		return
	}
	o.metrics.givenBack.Add(ctx, 1)
	timer := time.NewTimer(o.cfg.RetryDelay)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-o.stopping:
	case <-ctx.Done():
	}
	if _, err := o.put(context.WithoutCancel(ctx), w); err != nil {
		o.log.Warn("attempt not passed on", "chat", w.Key(), "step", w.Step, "error", err)
	}
}

// speakUp tells the queue that a message is being worked on, until the function
// it gives is called, which waits for the last of it. Attempts that are over
// before it is first due cost no goroutine.
func (o *Orchestrator) speakUp(ctx context.Context, d protocol.Delivery) (hush func()) {
	ctx, cancel := context.WithCancel(ctx)
	every := o.cfg.AckWait / inProgressShare
	silent := make(chan struct{})
	timer := time.AfterFunc(every, func() {
		defer close(silent)
		for ctx.Err() == nil {
			try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
			if err := d.InProgress(try); err != nil && ctx.Err() == nil {
				o.log.Debug("in-progress not sent", "subject", d.Subject(), "error", err)
			}
			cancel()
			pause(ctx, every)
		}
	})
	return func() {
		cancel()
		if !timer.Stop() {
			<-silent
		}
	}
}

// runAttempt does what the work asks for. Without an error all that it caused
// is stored.
//
// Work that comes again is not asked again: whoever had it may have an answer
// that was paid for, or be about to. The attempt is closed, and the next one is
// requested as work of its own.
func (o *Orchestrator) runAttempt(ctx context.Context, l *listener, deliveries uint64) error {
	if o.isStopping() {
		return errStopping // before anything is paid for
	}
	w, k := l.work, l.key
	if deliveries > 1 {
		return o.closeLost(ctx, w)
	}
	o.attempts.add(l) // before the chat is looked at: a stop message that comes from now on is heard
	defer o.attempts.remove(l)
	e, err := o.beforeAsking(ctx, w)
	if err != nil {
		return err
	}
	if !e.state.AttemptOpen(w.Step, w.Attempt) {
		return o.dispatch(ctx, e.state, patience{})
	}
	ended := chat.AttemptEnded{Step: w.Step, Attempt: w.Attempt, Interrupted: true}
	if !e.state.InterruptingStep(w.Step) {
		ended, err = o.ask(ctx, l, e.state)
	}
	if errors.Is(err, errUnwanted) {
		o.metrics.late.add(ctx, "answer")
		// Whoever closed the attempt may have had this very message, and may be
		// gone before its dispatch: with the ack it would not come again.
		e, err := o.freshly(ctx, k)
		if err != nil {
			return err
		}
		return o.dispatch(ctx, e.state, patience{})
	}
	if err != nil {
		return err
	}
	return o.endAttempt(ctx, k, ended)
}

// endAttempt writes down what an attempt came to. A paid answer is tried for as
// long as its attempt is open.
func (o *Orchestrator) endAttempt(ctx context.Context, k events.Key, ended chat.AttemptEnded) error {
	out, err := o.settleInTurn(ctx, k, ended, paid)
	if errors.Is(err, errTooLarge) {
		large := &model.Error{Class: events.ClassInvalidRequest, Message: "the answer is too large to be kept", Err: err}
		if ended.Answer != nil {
			large.Usage, large.CostMicros = ended.Answer.Usage, ended.Answer.CostMicros
		}
		ended.Answer, ended.Err = nil, large
		out, err = o.settleInTurn(ctx, k, ended, paid)
	}
	if err != nil {
		return err
	}
	o.metrics.attempts.add(ctx, classOf(ended))
	if !out.committed {
		o.metrics.late.add(ctx, "answer")
	}
	return nil
}

func classOf(ended chat.AttemptEnded) string {
	switch {
	case ended.Err != nil:
		return string(ended.Err.Class)
	case ended.Interrupted:
		return "interrupted"
	}
	return "ok"
}

// closeLost closes an attempt whose worker went away.
func (o *Orchestrator) closeLost(ctx context.Context, w protocol.ModelWork) error {
	k := w.Key()
	e, err := o.freshly(ctx, k)
	if err != nil {
		return err
	}
	lost := chat.AttemptLost{Step: w.Step, Attempt: w.Attempt}
	if e.state.InterruptingStep(w.Step) && e.state.AttemptOpen(w.Step, w.Attempt) {
		lost.Partial = o.fedPartial(ctx, k, w.Step, w.Attempt)
	}
	_, err = o.settleInTurn(ctx, k, lost, patience{})
	return err
}

// settleInTurn is settle in the chat's mailbox.
func (o *Orchestrator) settleInTurn(ctx context.Context, k events.Key, m chat.Message, p patience) (outcome, error) {
	settled := make(chan outcome, 1)
	err := o.boxes.do(ctx, k, func() error {
		if !p.until.IsZero() && time.Now().After(p.until) {
			return errTooLate
		}
		out, err := o.settle(ctx, k, m, "", p)
		settled <- out
		return err
	})
	if err != nil {
		return outcome{}, err
	}
	return <-settled, nil
}

// beforeAsking gives the state in which w's model is asked, or not. Asking costs
// money, and a timer of long ago may have dispatched this attempt once more just
// when it ended elsewhere. So it is the leader's word, unless the commit that the
// cache ends with is also the newest one that this process was told of; or is its own,
// and so young that no news of it can be expected: it wants this attempt, whose work
// was put into the queue only once and comes for the first time. Where attempts
// wait for their tenant's share that is too late: a copy may wait here of one that
// another process has, and comes the moment it has ended there.
func (o *Orchestrator) beforeAsking(ctx context.Context, w protocol.ModelWork) (entry, error) {
	k := w.Key()
	e, ok := o.cache.get(k)
	known := ok && (o.heads.newest(k) == e.sequence || e.isNews(w))
	if known && e.state.AttemptOpen(w.Step, w.Attempt) && !o.mayWait(w) {
		return e, nil
	}
	return o.freshly(ctx, k)
}

// freshly is fresh, tried again until it works or the orchestrator stops: a
// worker that has not asked the model gives its work back for nothing else.
func (o *Orchestrator) freshly(ctx context.Context, k events.Key) (entry, error) {
	for n := 0; ; n++ {
		e, err := o.fresh(ctx, k)
		if err == nil || hopeless(err) || !o.again(ctx, patience{}, n) {
			return e, err
		}
	}
}

// ask builds the request, has l ask the model and gives what came of it.
// [errUnwanted] means that nobody wants to know any more, [errStopping] that it
// was broken off because the orchestrator stops.
func (o *Orchestrator) ask(ctx context.Context, l *listener, s chat.State) (chat.AttemptEnded, error) {
	ended := chat.AttemptEnded{Step: l.work.Step, Attempt: l.work.Attempt}
	r := chat.PromptFor(s, l.work.Step)
	m, ok := o.models(r.Model)
	if !ok {
		ended.Err = &model.Error{Class: events.ClassInvalidRequest, Message: fmt.Sprintf("the model %.80q is not configured here", r.Model)}
		return ended, nil
	}
	err := o.fill(ctx, s.Key(), &r, model.TakesImages(m))
	if failed, ok := errors.AsType[*model.Error](err); ok {
		ended.Err = failed
		return ended, nil
	}
	if err != nil {
		return ended, err
	}
	o.metrics.running.Add(ctx, 1)
	defer o.metrics.running.Add(ctx, -1)

	asking, span := o.tracer.Attempt(ctx, l.work, r.Model)
	begun := time.Now()
	err = l.listen(asking, m, r)
	came := l.traced(err)
	span.End(came)
	o.metrics.models.Asked(ctx, r.Model, came, time.Since(begun))
	if err != nil {
		return ended, err
	}
	ended.Answer, ended.Err, ended.Interrupted = l.answer, l.failed, l.interrupted
	ended.Timing = l.timing
	if l.interrupted {
		ended.Partial = l.partial.parts()
	}
	if l.answer != nil {
		ended.Schemas = o.schemasOf(ctx, s, l.answer.Parts)
	}
	return ended, nil
}

// attempts are the attempts being run here, for stop messages to find.
type attempts struct {
	mu      sync.Mutex
	running map[events.Key][]*listener
}

func newAttempts() *attempts { return &attempts{running: make(map[events.Key][]*listener)} }

func (a *attempts) add(l *listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.running[l.key] = append(a.running[l.key], l)
}

func (a *attempts) remove(l *listener) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var kept []*listener
	for _, other := range a.running[l.key] {
		if other != l {
			kept = append(kept, other)
		}
	}
	if len(kept) == 0 {
		delete(a.running, l.key)
		return
	}
	a.running[l.key] = kept
}

// stop makes the chat's attempts look whether they are still wanted. The
// message itself is not believed.
func (a *attempts) stop(k events.Key, _ protocol.Stop) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, l := range a.running[k] {
		select {
		case l.poke <- struct{}{}:
		default: // it will look anyway
		}
	}
}
