package toolrunner

import (
	"context"
	"fmt"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// Times of asking for a licence.
const (
	// claimWait is for an answer. A grant that took longer is void anyway, and
	// while the licence is young the same claim is granted again: asking soon
	// bears two lost answers.
	claimWait = events.Grant + 200*time.Millisecond

	claimPause    = 100 * time.Millisecond // before asking again, doubled up to
	maxClaimPause = time.Second
	claimFor      = 30 * time.Second // then the call goes back to the queue
	claimAway     = 5 * time.Second  // and stays there that long

	busyAway = 2 * time.Second // if an answer of busy names no time

	askEvery = 4 * time.Second        // whether a running call is still wanted: it ends within 6 s, whatever is lost
	askPause = 500 * time.Millisecond // before asking that again after no answer
)

// licence is what asking for it came to.
type licence struct {
	verdict protocol.ClaimVerdict // empty: no answer came, and nothing is known
	until   time.Time             // of a grant: no effect begins from then on
	away    time.Duration         // else: before the call may be delivered again
}

// claim asks until there is an answer that can be used.
//
// A grant is good for a moment, counted from when the question was sent, for
// the orchestrator counts from later. One that is older is asked for again,
// under the same claim id: that id stands for this delivery, and the answer is
// the same while the licence is young.
func (r *Runner) claim(ctx context.Context, chat events.Key, c protocol.Claim) licence {
	began := time.Now()
	wait := claimPause
	for ctx.Err() == nil && time.Since(began) < claimFor {
		sent := time.Now()
		answer, err := r.ask(ctx, chat, c)
		if err == nil {
			switch answer.Answer {
			case protocol.ClaimGranted:
				if until := sent.Add(grantOf(answer)); time.Now().Before(until) {
					return licence{verdict: protocol.ClaimGranted, until: until}
				}
				r.metrics.expired.Add(ctx, 1)
				continue
			case protocol.ClaimOver:
				return licence{verdict: protocol.ClaimOver}
			case protocol.ClaimBusy:
				away := time.Duration(answer.RetryMS) * time.Millisecond
				if away <= 0 {
					away = busyAway
				}
				return licence{verdict: protocol.ClaimBusy, away: away}
			}
		}
		pause(ctx, wait)
		wait = min(2*wait, maxClaimPause)
	}
	if ctx.Err() != nil {
		return licence{}
	}
	return licence{away: claimAway}
}

// grantOf is how long after the question an effect may begin: what the answer
// says, but never more than the time the whole argument rests on.
func grantOf(a protocol.ClaimAnswer) time.Duration {
	if a.GrantMS <= 0 {
		return events.Grant
	}
	return min(time.Duration(a.GrantMS)*time.Millisecond, events.Grant)
}

// ask is one question with one answer.
func (r *Runner) ask(ctx context.Context, chat events.Key, c protocol.Claim) (protocol.ClaimAnswer, error) {
	asking, cancel := context.WithTimeout(ctx, claimWait)
	defer cancel()
	answer, err := r.bus.Claim(asking, chat, c)
	if err != nil {
		r.metrics.claim(ctx, noAnswer)
		return protocol.ClaimAnswer{}, err
	}
	r.metrics.claim(ctx, answer.Answer)
	return answer, nil
}

// watch asks every few seconds whether a running call is still wanted, for the
// message that says it is not may be lost, and cancels the call if it is not.
//
// The question is the claim once more. It changes nothing: the call has been
// started by this very claim, or needs no start. Granted and busy both mean
// that nobody has ended it. From until on, close to the call's deadline, every
// claim is told that it is over, also that of a call which may finish in time:
// then only a stop message counts.
func (r *Runner) watch(ctx context.Context, e *entry, c protocol.Claim, until events.Time) {
	for events.At(r.cfg.Clock().Add(events.Skew)) < until {
		next := askEvery
		switch answer, err := r.ask(ctx, e.chat, c); {
		case err != nil:
			next = askPause
		case answer.Answer == protocol.ClaimOver:
			e.cancel(fmt.Errorf("%w: %s", ErrNotWanted, overText(answer)))
			return
		}
		if !pause(ctx, next) {
			return
		}
	}
}

func overText(a protocol.ClaimAnswer) string {
	if a.Why == "" {
		return "it is over"
	}
	return a.Why
}
