package verify

import (
	"time"

	"github.com/everturn/everturn/events"
)

// Delays between attempts, stated apart from those who decide on them.
const (
	maxRetryDelay = events.MaxRetryFor + events.MaxRetryFor/5 // what a provider may ask for, and the fifth that spreads retries

	firstRetryDelay = 1 * time.Second        // doubled for each attempt, up to [events.MaxBackoff]
	firstQuickDelay = 200 * time.Millisecond // doubled for each stream that broke off
	maxDoublings    = 10
)

// delay judges how long a retry waits, counted from the failure's commit. What
// a provider asked for is not in the log, so it may always be longer than it
// would be otherwise. It may be shorter by as much as two readings of a clock
// can differ, and no more: only the first streams that break off are tried
// again quickly.
func (h *history) delay(s *step, e events.StepFailed) {
	if e.Attempt >= events.MaxAttemptsPerStep {
		h.breaks(RuleBounds, Place{}, "attempt %d of step %s is to be tried again, at most %d may be", e.Attempt, e.Step, events.MaxAttemptsPerStep)
	}
	d := e.RetryAt.Sub(h.at)
	if d > maxRetryDelay {
		h.breaks(RuleBounds, Place{}, "the retry after attempt %d of step %s waits %s, at most %s may be", e.Attempt, e.Step, d, maxRetryDelay)
	}
	if least := leastDelay(s, e); d < least-events.Skew {
		h.breaks(RuleBounds, Place{}, "the retry after attempt %d of step %s waits %s, at least %s must be", e.Attempt, e.Step, d, least)
	}
}

// leastDelay is the shortest wait after a failure that s has counted already.
func leastDelay(s *step, e events.StepFailed) time.Duration {
	if e.Class.Interrupted() && s.interrupted <= events.MaxQuickRetries {
		return firstQuickDelay << (s.interrupted - 1)
	}
	usual := min(firstRetryDelay<<min(max(e.Attempt, 1)-1, maxDoublings), events.MaxBackoff)
	return usual - usual/5
}
