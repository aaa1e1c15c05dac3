package toolrunner

import (
	"context"
	"log/slog"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Times of an offer.
const (
	offerWait       = 5 * time.Second       // for an answer
	firstOfferPause = 50 * time.Millisecond // before the second try: orchestrators may be starting, too
	quietOffers     = 5                     // tries in vain that nobody is told of
	maxOfferPause   = 15 * time.Second      // between tries while nobody answers
)

// maxOfferBytes is for the manifests of one message; a server takes twice as much. A
// single larger one goes alone.
const maxOfferBytes = 512 << 10

// offers tells orchestrators of the tools: until one has answered, and from
// then on once in a while, since a registry may have been restored from older
// days. What a source renews is offered at once.
func (r *Runner) offers(ctx context.Context) {
	said, refused := map[string]bool{}, map[string]string{}
	next := firstOfferPause
	for try := 0; ctx.Err() == nil; try++ {
		offer := r.tools.manifests()
		r.sayWhatAsks(ctx, offer, said)
		if r.offerAll(ctx, offer, refused, try) {
			try, next = -1, firstOfferPause
			r.pauseOrRenew(ctx, r.cfg.OfferEvery)
			continue
		}
		r.pauseOrRenew(ctx, next)
		next = min(2*next, maxOfferPause)
	}
}

// pauseOrRenew waits for d, for something new to offer, or for ctx to end.
func (r *Runner) pauseOrRenew(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-r.tools.renewed:
	case <-ctx.Done():
	}
}

// sayWhatAsks names the tools whose policy wants a person's yes: who did not mean
// that would wonder why their calls wait. Each is named once.
func (r *Runner) sayWhatAsks(ctx context.Context, offer []protocol.Manifest, said map[string]bool) {
	for _, m := range offer {
		if policy := m.Tool().Policy; policy != events.PolicyAllow && !said[m.Name] {
			said[m.Name] = true
			r.log.InfoContext(ctx, "calls of this tool wait until somebody approves them; Policy allow in its manifest lets them run",
				"tool", m.Name, "policy", policy)
		}
	}
}

// offerAll offers manifests in as many messages as they need, and says whether
// each was answered. A runner whose sources have nothing yet has nothing to say. Refused
// has why tools were the last time: what is still so is not told again.
func (r *Runner) offerAll(ctx context.Context, offer []protocol.Manifest, refused map[string]string, try int) bool {
	for len(offer) > 0 {
		n, size := 0, 0
		for n < len(offer) {
			encoded, _ := offer[n].Encode()
			if size += len(encoded); n > 0 && size > maxOfferBytes {
				break
			}
			n++
		}
		if !r.offerOnce(ctx, offer[:n], refused, try) {
			return false
		}
		if offer = offer[n:]; len(offer) == 0 && r.cfg.Offered != nil {
			r.cfg.Offered()
		}
	}
	return true
}

// offerOnce is one message with one answer.
func (r *Runner) offerOnce(ctx context.Context, offer []protocol.Manifest, refused map[string]string, try int) bool {
	asking, cancel := context.WithTimeout(ctx, offerWait)
	defer cancel()
	answer, err := r.bus.Offer(asking, protocol.Offer{
		V: protocol.Version, Group: r.cfg.Group, Runner: r.cfg.Process, Manifests: offer,
	})
	if err != nil {
		if ctx.Err() == nil {
			level := slog.LevelDebug // while everything starts that is no news
			if try >= quietOffers {
				level = slog.LevelWarn
			}
			r.log.Log(ctx, level, "no orchestrator takes the offer of tools; is one running?", "error", err)
		}
		return false
	}
	for i, m := range offer {
		if i >= len(answer.Refused) || answer.Refused[i] == "" {
			delete(refused, m.Name)
			continue
		}
		r.metrics.refused.Add(ctx, 1)
		if why := answer.Refused[i]; refused[m.Name] != why {
			refused[m.Name] = why
			r.log.Error("a tool was refused", "tool", m.Name, "why", why)
		}
	}
	return true
}
