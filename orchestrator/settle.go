package orchestrator

import (
	"context"
	"errors"
	"time"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// errTooLate means that a message waited so long for its turn that nobody waits
// for it any more, or that others should have its place.
var errTooLate = errors.New("its turn came too late")

// outcome is what became of a message.
type outcome struct {
	entry     entry // after it; unless committed, as the leader had it
	decision  chat.Decision
	committed bool
}

// settle does for m all that it causes: load, decide, commit, dispatch. What
// remains is to answer and to acknowledge. It is to be called in the chat's
// mailbox.
//
// An error means that m is not settled and must come again, with three
// exceptions that will not go away by themselves: see [hopeless].
func (o *Orchestrator) settle(ctx context.Context, k events.Key, m chat.Message, trace string, p patience) (outcome, error) {
	out, err := o.decide(ctx, k, m, trace, p)
	if err != nil || out.decision.Ask != nil {
		return out, err
	}
	if isInHand(m) && !out.committed {
		// Nothing was brought about, and the asker has the work in hand. If it is
		// told that its call is over it removes the work, which stays owed until
		// the deadline: dispatching again for every such claim would have the
		// calls of a step bring each other back, round and round.
		return out, nil
	}
	if err := o.dispatch(ctx, out.entry.state, p); err != nil {
		return outcome{}, err
	}
	if out.committed {
		o.tell(ctx, k, m, out.entry.state, out.decision.Events)
	}
	return out, nil
}

// isInHand reports whether whoever sent m has the work that it is about.
func isInHand(m chat.Message) bool {
	switch m.(type) {
	case chat.Claim, chat.Ask:
		return true
	}
	return false
}

// decide is settle up to the commit.
func (o *Orchestrator) decide(ctx context.Context, k events.Key, m chat.Message, trace string, p patience) (outcome, error) {
	e, fresh, err := o.load(ctx, k)
	for n := 0; ; {
		if err == nil {
			err = o.agentsFor(e.state, m)
		}
		if err == nil {
			at := o.decisionTime(m, e)
			d := chat.Handle(e.state, m, at, o.live(k.Tenant))
			switch {
			case d.Ask != nil, len(d.Events) == 0 && fresh:
				return outcome{entry: e, decision: d}, nil
			case len(d.Events) == 0: // a no counts only on the leader's word
				e, err = o.fresh(ctx, k)
				fresh = true
				continue
			}
			var next entry
			next, err = o.commit(ctx, e, proposal{key: k, message: m, at: at, decision: d, trace: trace}, p)
			if err == nil {
				return outcome{entry: next, decision: d, committed: true}, nil
			}
			if errors.Is(err, errMoved) {
				e, err = o.fresh(ctx, k)
				fresh = true
				continue
			}
		}
		_, recall := m.(chat.Recall)
		if hopeless(err) || recall && errors.Is(err, errAgentsUnknown) || !o.again(ctx, p, n) { // a parent is not held up by that
			return outcome{}, err
		}
		n++
		e, err = o.fresh(ctx, k)
		fresh = true
	}
}

// decisionTime is the time a decision is told. Claims only compare it, and get this
// machine's clock as it is; the others write it down, so it is that of their commit.
func (o *Orchestrator) decisionTime(m chat.Message, e entry) events.Time {
	if _, claim := m.(chat.Claim); claim {
		return events.At(o.cfg.Clock())
	}
	return o.at(e)
}

// hopeless reports whether trying again cannot help this process: the chat is
// damaged, a newer release wrote it, or the commit will always be too large.
func hopeless(err error) bool {
	_, version := errors.AsType[*events.VersionError](err)
	return isStopped(err) || version || errors.Is(err, errTooLarge)
}

// dispatch brings everything that s owes on its way. What is there already
// stays as it is.
func (o *Orchestrator) dispatch(ctx context.Context, s chat.State, p patience) error {
	for n := 0; ; n++ {
		_, err := o.dispatchOnce(ctx, s)
		if err == nil {
			return nil
		}
		if !o.again(ctx, p, n) {
			return err
		}
	}
}

// dispatchOnce gives how much of the work was missing. Timers do not tell, word to
// other chats is asked for again and again as long as it is owed, and an attempt may
// wait in another process for its tenant's share.
func (o *Orchestrator) dispatchOnce(ctx context.Context, s chat.State) (stored int, err error) {
	o.cache.handOut(s.Key(), s.Rev())
	for _, w := range chat.Owed(s) {
		isNew, err := o.put(ctx, w)
		if err != nil {
			return stored, err
		}
		if isNew && w.Kind() != protocol.OwesChat && !o.mayWait(w) {
			stored++
		}
	}
	return stored, nil
}

func (o *Orchestrator) put(ctx context.Context, w protocol.Work) (bool, error) {
	ctx, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	switch w := w.(type) {
	case protocol.Timer:
		return false, o.bus.Timers.Set(ctx, w)
	case protocol.ModelWork:
		if s, asked := o.shares[w.Pool]; asked && s.queue(w, time.Now()) {
			return false, nil // it waits here
		}
	case protocol.ToolWork, protocol.ChatWork:
	}
	return o.bus.Work.Put(ctx, w)
}

// tell tells others at once what a commit means for them. All of it may be lost.
func (o *Orchestrator) tell(ctx context.Context, k events.Key, m chat.Message, s chat.State, list []events.Event) {
	o.sayStops(ctx, k, m, list)
	for _, w := range chat.Words(s, list) {
		if _, err := o.put(ctx, w); err != nil {
			o.log.Debug("parent not told", "chat", k, "error", err)
		}
	}
}

// sayStops tells workers and runners what a commit made unwanted. The messages
// may be lost: each of them looks for itself every few seconds.
func (o *Orchestrator) sayStops(ctx context.Context, k events.Key, m chat.Message, list []events.Event) {
	for _, e := range list {
		stop, ok := stopFor(m, e)
		if !ok {
			continue
		}
		try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
		if err := o.bus.Signals.Stop(try, k, stop); err != nil {
			o.log.Debug("stop message not sent", "chat", k, "error", err)
		}
		cancel()
	}
}

// stopFor is the stop message that an event calls for. What its own worker or
// runner reported needs none.
func stopFor(m chat.Message, e events.Event) (protocol.Stop, bool) {
	switch e := e.(type) {
	case events.TurnInterruptRequested:
		return protocol.Stop{V: protocol.Version, Turn: e.Turn}, true
	case events.ToolCompleted:
		if r, own := m.(chat.Result); own && r.Call == e.Call {
			return protocol.Stop{}, false
		}
		if _, own := m.(chat.AttemptEnded); own {
			return protocol.Stop{}, false // settled by rule before anybody had it
		}
		if e.Status == events.ToolOK {
			return protocol.Stop{}, false // of a person or a client: no runner had it
		}
		return protocol.Stop{V: protocol.Version, Turn: e.Call.Turn, Call: &e.Call}, true
	case events.StepFailed:
		if _, own := m.(chat.AttemptEnded); own {
			return protocol.Stop{}, false
		}
		return protocol.Stop{V: protocol.Version, Turn: e.Step.Turn, Step: &e.Step, Attempt: e.Attempt}, true
	case events.StepInterrupted:
		if _, own := m.(chat.AttemptEnded); own {
			return protocol.Stop{}, false
		}
		return protocol.Stop{V: protocol.Version, Turn: e.Step.Turn, Step: &e.Step, Attempt: e.Attempt}, true
	}
	return protocol.Stop{}, false
}

// commandPatience is that of a message taken at the given time which goes back
// to its queue when nothing can be done.
func (o *Orchestrator) commandPatience(taken time.Time) patience {
	return patience{until: taken.Add(o.cfg.CommandTime)}
}
