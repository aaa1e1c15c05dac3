package orchestrator_test

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/membus"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

func transfer() protocol.Manifest {
	return protocol.Manifest{Name: "transfer", Group: group, Schema: json.RawMessage(`{"type":"object"}`), Policy: events.PolicyAllow}
}

// calledOnce is a chat whose turn has called a tool that is not idempotent. It
// gives the work as its runner has it.
func (r *rig) calledOnce(edit func(c *orchestrator.Config, b *orchestrator.Bus)) (*part, toolrunner.Bus, protocol.Delivery) {
	r.Helper()
	r.offer(transfer())
	o := r.start(answers(calls("transfer", "{}"), says("done")), edit)
	r.do(chatA, create())
	r.do(chatA, send("pay"))
	runner := r.server.Process("r").Runner()
	list, err := runner.Fetch(r.Context(), group, 1)
	if err != nil {
		r.Fatal(err)
	}
	return o, runner, list[0]
}

var callA = events.CallID{Turn: 1, Step: 1, Ordinal: 1}

func claimOf(id string, delivery uint64) protocol.Claim {
	return protocol.Claim{V: protocol.Version, Call: callA, Claim: id, Delivery: delivery, Runner: "r"}
}

func TestClaims(t *testing.T) {
	t.Parallel()

	for _, tt := range []struct {
		name   string
		runs   bool // the holder says that it runs
		answer protocol.ClaimVerdict
		result events.ToolStatus
	}{
		{name: "a call that its holder runs is left alone", runs: true, answer: protocol.ClaimBusy},
		{name: "a call whose holder is silent is unknown", answer: protocol.ClaimOver, result: events.ToolUnknown},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()

			inBubble(t, func(r *rig) {
				o, runner, _ := r.calledOnce(nil)
				if tt.runs {
					ctx, cancel := context.WithCancel(r.Context())
					r.Cleanup(cancel)
					go func() {
						_ = runner.Answer(ctx, "r", func(q protocol.RunnerQuestion) bool { return q.Claim == "c1" })
					}()
				}
				claim := func(id string, delivery uint64, want protocol.ClaimVerdict) {
					r.Helper()
					a, err := runner.Claim(r.Context(), chatA, claimOf(id, delivery))
					if err != nil || a.Answer != want {
						r.Errorf("claim %s, delivery %d: %+v, %v; want %s", id, delivery, a, err, want)
					}
				}
				claim("c1", 1, protocol.ClaimGranted)
				claim("c1", 1, protocol.ClaimGranted) // the answer was lost
				claim("c2", 2, protocol.ClaimBusy)    // too young to ask about
				if n := len(eventsOf[events.ToolStarted](r, chatA)); n != 1 {
					r.Errorf("started %d times, want once", n)
				}
				r.after(events.Dead)
				claim("c1", 1, protocol.ClaimBusy) // too old to begin
				claim("c2", 2, tt.answer)
				completed := eventsOf[events.ToolCompleted](r, chatA)
				switch {
				case tt.result == "" && len(completed) != 0:
					r.Errorf("results: %+v, want none", completed)
				case tt.result != "" && (len(completed) != 1 || completed[0].Status != tt.result):
					r.Errorf("results: %+v, want one: %s", completed, tt.result)
				}
				if n := o.counted("unknown"); n != int64(len(completed)) {
					r.Errorf("%d unknown results counted, want %d", n, len(completed))
				}
			})
		})
	}
}

// after lets time pass.
func (r *rig) after(d time.Duration) {
	r.Helper()
	<-time.After(d)
	synctest.Wait()
}

// Rule: S1.3.
func TestResults(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		o, runner, _ := r.calledOnce(nil)
		if a, err := runner.Claim(r.Context(), chatA, claimOf("c1", 1)); err != nil || a.Answer != protocol.ClaimGranted {
			r.Fatalf("claim: %+v, %v", a, err)
		}
		result := protocol.Result{V: protocol.Version, Call: callA, Runner: "r", Status: events.ToolOK, Parts: []events.Part{events.Text("paid")}}
		for i, want := range []protocol.ResultVerdict{protocol.ResultCommitted, protocol.ResultDropped, protocol.ResultDropped} {
			a, err := runner.Result(r.Context(), chatA, result)
			if err != nil || a.Answer != want {
				r.Errorf("result %d: %+v, %v; want %s", i+1, a, err, want)
			}
		}
		if n := o.counted("late", "result"); n != 2 {
			r.Errorf("%d late results counted, want 2", n)
		}
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if a, err := runner.Claim(r.Context(), chatA, claimOf("c2", 2)); err != nil || a.Answer != protocol.ClaimOver {
			r.Errorf("a claim after the result: %+v, %v", a, err)
		}
	})
}

func TestAResultWhileTheLogIsAway(t *testing.T) {
	t.Parallel()

	synctest.Test(t, func(t *testing.T) {
		r := &rig{T: t, server: membus.New(membus.Options{RequestTimeout: time.Minute})}
		away := false
		o, runner, _ := r.calledOnce(func(_ *orchestrator.Config, b *orchestrator.Bus) {
			log := b.Log
			b.Log = appender{log, func(ctx context.Context, a protocol.Append) (uint64, error) {
				if away {
					return 0, errors.New("no leader")
				}
				return log.Append(ctx, a)
			}}
		})
		if a, err := runner.Claim(r.Context(), chatA, claimOf("c1", 1)); err != nil || a.Answer != protocol.ClaimGranted {
			r.Fatalf("claim: %+v, %v", a, err)
		}
		away = true
		result := protocol.Result{V: protocol.Version, Call: callA, Runner: "r", Status: events.ToolOK}
		if a, err := runner.Result(r.Context(), chatA, result); err != nil || a.Answer != protocol.ResultUnavailable {
			r.Errorf("result: %+v, %v; want unavailable", a, err)
		}
		away = false
		if a, err := runner.Result(r.Context(), chatA, result); err != nil || a.Answer != protocol.ResultCommitted {
			r.Errorf("result sent again: %+v, %v", a, err)
		}
		if n := o.counted("faults"); n != 0 {
			r.Errorf("%d faults", n)
		}
	})
}

// Rule: S4.13.
func TestADeadlineSettlesACallWithoutItsRunner(t *testing.T) {
	t.Parallel()

	inBubble(t, func(r *rig) {
		_, runner, _ := r.calledOnce(nil)
		stopped := make(chan protocol.Stop, 1)
		ctx, cancel := context.WithCancel(r.Context())
		r.Cleanup(cancel)
		go func() {
			_ = runner.Stops(ctx, func(_ events.Key, s protocol.Stop) { stopped <- s })
		}()
		r.eventually("the turn has ended", func() bool { return r.has(chatA, "turn.completed.v1") })
		if got := eventsOf[events.ToolCompleted](r, chatA); len(got) != 1 || got[0].Status != events.ToolTimeout {
			r.Errorf("results: %+v, want a timeout", got)
		}
		if s := <-stopped; s.Call == nil || *s.Call != callA {
			r.Errorf("stop message is %+v", s)
		}
	})
}
