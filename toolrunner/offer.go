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

// offers tells orchestrators of the tools: until one has answered, and from
// then on once in a while, since a registry may have been restored from older
// days.
func (r *Runner) offers(ctx context.Context) {
	r.sayWhatAsks(ctx)
	next := firstOfferPause
	for try := 0; ctx.Err() == nil; try++ {
		if r.offerOnce(ctx, try) {
			try, next = -1, firstOfferPause
			pause(ctx, r.cfg.OfferEvery)
			continue
		}
		pause(ctx, next)
		next = min(2*next, maxOfferPause)
	}
}

// sayWhatAsks names the tools whose policy wants a person's yes: who did not mean
// that would wonder why their calls wait.
func (r *Runner) sayWhatAsks(ctx context.Context) {
	for _, m := range r.offer {
		if policy := m.Tool().Policy; policy != events.PolicyAllow {
			r.log.InfoContext(ctx, "calls of this tool wait until somebody approves them; Policy allow in its manifest lets them run",
				"tool", m.Name, "policy", policy)
		}
	}
}

func (r *Runner) offerOnce(ctx context.Context, try int) bool {
	asking, cancel := context.WithTimeout(ctx, offerWait)
	defer cancel()
	answer, err := r.bus.Offer(asking, protocol.Offer{
		V: protocol.Version, Group: r.cfg.Group, Runner: r.cfg.Process, Manifests: r.offer,
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
	for i, why := range answer.Refused {
		if why != "" && i < len(r.offer) {
			r.metrics.refused.Add(ctx, 1)
			r.log.Error("a tool was refused", "tool", r.offer[i].Name, "why", why)
		}
	}
	if r.cfg.Offered != nil {
		r.cfg.Offered()
	}
	return true
}
