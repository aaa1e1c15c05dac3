package toolrunner_test

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// counted is a tool that counts how often its effect began.
func counted(n *atomic.Int32) func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
	return func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
		n.Add(1)
		return toolrunner.Output{Text: "done"}, nil
	}
}

func TestClaimGoesBeforeTheEffect(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		g := start(t, b, effect(), func(_ context.Context, c toolrunner.Call) (toolrunner.Output, error) {
			if n := len(b.sentClaims()); n != 1 {
				t.Errorf("the tool ran after %d claims", n)
			}
			if string(c.Arguments) != `{"x":1}` || c.ID != call || c.Chat != chat || c.Key != protocol.IdempotencyKey(chat, call) {
				t.Errorf("call: %+v", c)
			}
			return toolrunner.Output{Text: "done"}, nil
		})
		g.settle(g.work(), 1).wantAck(t)

		r := g.wantResult(events.ToolOK)
		c := b.sentClaims()[0]
		if c.Delivery != 1 || c.Rev != 7 || c.Call != call || c.Runner != r.Runner || c.Claim == "" {
			t.Errorf("claim: %+v", c)
		}
		if len(r.Parts) != 1 || r.Parts[0].Text != "done" || r.Blob != "" || r.Truncated || r.Rev != 7 {
			t.Errorf("result: %+v", r)
		}
	})
}

func TestEachDeliveryHasItsOwnClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		g := start(t, newBus(), idempotent(), says("done"))
		g.settle(g.work(), 1)
		g.settle(g.work(), 2)

		c := g.bus.sentClaims()
		if len(c) != 2 || c[0].Claim == c[1].Claim || c[1].Delivery != 2 {
			t.Errorf("claims: %+v", c)
		}
	})
}

func TestLostAnswerIsAskedForUnderTheSameClaim(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		b := newBus()
		b.onClaim = func(n int, _ protocol.Claim) (protocol.ClaimAnswer, error) {
			if n < 2 {
				return protocol.ClaimAnswer{}, errNoAnswer
			}
			return granted, nil
		}
		g := start(t, b, effect(), counted(&ran))
		g.settle(g.work(), 1).wantAck(t)

		c := b.sentClaims()
		if len(c) != 3 || c[0] != c[1] || c[1] != c[2] {
			t.Errorf("claims: %+v", c)
		}
		if ran.Load() != 1 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

func TestLateGrantBeginsNothing(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var (
			began time.Time
			asked []time.Time
		)
		b := newBus()
		b.claimTakes = events.Grant
		b.onClaim = func(int, protocol.Claim) (protocol.ClaimAnswer, error) {
			asked = append(asked, time.Now())
			if len(asked) == 3 {
				b.claimTakes = events.Grant - time.Millisecond
			}
			return granted, nil
		}
		g := start(t, b, effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			began = time.Now()
			return toolrunner.Output{}, nil
		})
		g.settle(g.work(), 1).wantAck(t)

		if len(asked) != 3 {
			t.Fatalf("asked %d times, want 3", len(asked))
		}
		if d := began.Sub(asked[2]); d >= events.Grant {
			t.Errorf("began %v after the question that was granted", d)
		}
	})
}

func TestGrantIsNeverLongerThanTheArgumentAllows(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.claimTakes = events.Grant
		b.onClaim = func(n int, _ protocol.Claim) (protocol.ClaimAnswer, error) {
			if n > 0 {
				return over, nil
			}
			return protocol.ClaimAnswer{Answer: protocol.ClaimGranted, GrantMS: 60_000}, nil
		}
		g := start(t, b, effect(), says("done"))
		g.settle(g.work(), 1).wantAck(t)
		if n := len(b.sentResults()); n != 0 {
			t.Errorf("%d results after a grant that was too old", n)
		}
	})
}

func TestOverIsAcknowledgedWithoutRunning(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		b := newBus()
		b.onClaim = func(int, protocol.Claim) (protocol.ClaimAnswer, error) { return over, nil }
		g := start(t, b, effect(), counted(&ran))
		g.settle(g.work(), 1).wantAck(t)
		if ran.Load() != 0 || len(b.sentResults()) != 0 {
			t.Errorf("ran %d times, %d results", ran.Load(), len(b.sentResults()))
		}
	})
}

func TestBusyGivesTheCallBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var ran atomic.Int32
		b := newBus()
		b.onClaim = func(int, protocol.Claim) (protocol.ClaimAnswer, error) {
			return protocol.ClaimAnswer{Answer: protocol.ClaimBusy, RetryMS: 1500}, nil
		}
		g := start(t, b, effect(), counted(&ran))
		g.settle(g.work(), 2).wantLater(t, 1500*time.Millisecond)
		if b.runs() {
			t.Error("the process still answers for a claim it gave up")
		}
		if ran.Load() != 0 {
			t.Errorf("ran %d times", ran.Load())
		}
	})
}

func TestCallGoesBackWhenNobodyAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		b.onClaim = func(int, protocol.Claim) (protocol.ClaimAnswer, error) {
			return protocol.ClaimAnswer{}, errNoAnswer
		}
		began := time.Now()
		g := start(t, b, effect(), says("done"))
		d := g.settle(g.work(), 1)
		d.wantLater(t, 5*time.Second)
		if held := d.at.Sub(began); held < 30*time.Second || held > 35*time.Second {
			t.Errorf("held for %v", held)
		}
	})
}

func TestProcessAnswersForItsClaimUntilTheResultIsAnswered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		finish := make(chan struct{})
		b.onClaim = func(int, protocol.Claim) (protocol.ClaimAnswer, error) {
			if !b.runs() {
				t.Error("no answer for the claim while it is asked for")
			}
			return granted, nil
		}
		b.onResult = func(n int) (protocol.ResultAnswer, error) {
			if !b.runs() {
				t.Error("no answer for the claim before the result is in")
			}
			if n < 3 {
				return unavailable, nil
			}
			return committed, nil
		}
		g := start(t, b, effect(), func(context.Context, toolrunner.Call) (toolrunner.Output, error) {
			<-finish
			return toolrunner.Output{}, nil
		})
		d := g.deliver(g.work(), 1)
		synctest.Wait()
		if !b.runs() {
			t.Error("no answer for the claim while the tool runs")
		}
		close(finish)
		<-d.settled
		if b.runs() {
			t.Error("still an answer for the claim after the result is in")
		}
	})
}

func TestOtherClaimsAreNotOurs(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		b := newBus()
		g := start(t, b, effect(), hangs)
		d := g.deliver(g.work(), 1)
		synctest.Wait()
		c := b.sentClaims()[0]
		for _, q := range []protocol.RunnerQuestion{
			{Tenant: "other", Chat: chat.Chat, Call: call, Claim: c.Claim},
			{Tenant: chat.Tenant, Chat: chat.Chat, Call: events.CallID{Turn: 9, Step: 1, Ordinal: 1}, Claim: c.Claim},
			{Tenant: chat.Tenant, Chat: chat.Chat, Call: call, Claim: "another"},
		} {
			if b.running(q) {
				t.Errorf("answers yes to %+v", q)
			}
		}
		b.stops <- stopMessage{chat, protocol.Stop{V: 1, Turn: 1}}
		<-d.settled
	})
}
