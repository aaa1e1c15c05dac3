package orchestrator

import (
	"context"
	"time"

	"github.com/everturn/everturn/protocol"
)

// standBack takes work out of the queue whose tenant has its share of the pool, as if
// it had never been delivered: given back it would come again as work that was begun.
func (o *Orchestrator) standBack(ctx context.Context, d protocol.Delivery, w protocol.ModelWork, s *share) {
	if err := o.ack(ctx, d); err != nil {
		o.giveBack(ctx, d)
		return
	}
	s.standBack(w, time.Now())
	o.metrics.stoodBack.Add(ctx, 1)
}

// keepFair puts work back for which there is room, until ctx ends; then all of it,
// for others.
func (o *Orchestrator) keepFair(ctx, working context.Context, s *share) {
	ticker := time.NewTicker(offerEvery)
	defer ticker.Stop()
	for {
		tick := ticker.C
		if s.isIdle() {
			tick = nil
		}
		select {
		case <-s.wake:
		case <-tick:
			for range s.look(time.Now()) { // whoever has room elsewhere
				if !o.putBack(working, s, true) {
					break
				}
			}
		case <-ctx.Done():
			if !s.isIdle() {
				pause(working, ackSettles)
			}
			for working.Err() == nil && o.putBack(working, s, true) {
			}
			return
		}
		for o.putBack(working, s, false) {
		}
	}
}

// putBack puts what waits longest of the tenant that has least back into the queue; false
// if there is none. What cannot be stored is owed by the log, and comes with the sweep.
func (o *Orchestrator) putBack(ctx context.Context, s *share, anyhow bool) bool {
	now := time.Now()
	next, ok := s.next(now, anyhow)
	if !ok {
		return false
	}
	w := next.work
	if now.Sub(next.since) > staleAfter && o.heads.newest(w.Key()) == 0 {
		s.gone(w.Tenant) // it was done elsewhere, or nobody wants it any more
		return true
	}
	try, cancel := context.WithTimeout(ctx, o.cfg.TryTimeout)
	defer cancel()
	o.cache.handOut(w.Key(), w.Rev)
	stored, err := o.bus.Work.Put(try, w)
	if err != nil {
		o.log.Debug("attempt not put back", "chat", w.Key(), "step", w.Step, "error", err)
	}
	if !stored {
		s.gone(w.Tenant)
	}
	return true
}

// mayWait reports whether work that is not stored may wait for its tenant's share.
func (o *Orchestrator) mayWait(w protocol.Work) bool {
	attempt, ok := w.(protocol.ModelWork)
	s := o.shares[attempt.Pool]
	return ok && s != nil && s.mayWait(attempt.Tenant)
}
