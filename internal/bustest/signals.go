package bustest

import (
	"context"
	"testing"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/google/go-cmp/cmp"
)

// Signals is the suite of [orchestrator.Signals], and of the runner's Stops and
// Answer.
func Signals(t *testing.T, r Rig) {
	rules(t, r, []rule{
		{"a stop reaches orchestrators and runners as it was sent", func(b *bench) {
			k := b.key("a")
			call := events.CallID{Turn: 2, Step: 1, Ordinal: 3}
			want := protocol.Stop{V: protocol.Version, Turn: 2, Call: &call}
			type got struct {
				Key  events.Key
				Stop protocol.Stop
			}
			mine, theirs := make(chan got, 1), make(chan got, 1)
			into := func(c chan got) func(events.Key, protocol.Stop) {
				return func(k events.Key, s protocol.Stop) {
					select {
					case c <- got{k, s}:
					default: // the sender repeats
					}
				}
			}
			b.background(func(ctx context.Context) error { return b.Other.Signals.Stops(ctx, into(mine)) })
			runner := b.Rig.Runner(group)
			b.background(func(ctx context.Context) error { return runner.Stops(ctx, into(theirs)) })
			for _, c := range []chan got{mine, theirs} {
				var g got
				b.eventually("the stop is heard", func() bool {
					b.must(b.Signals.Stop(b.ctx, k, want))
					select {
					case g = <-c:
						return true
					default:
						return false
					}
				})
				if diff := cmp.Diff(got{k, want}, g); diff != "" {
					b.Errorf("stop (-want +got):\n%s", diff)
				}
			}
		}},
		{"a runner that is gone does not answer", func(b *bench) {
			ctx, cancel := context.WithTimeout(b.ctx, patience/2)
			defer cancel()
			if a, err := b.Signals.AskRunner(ctx, group+".gone", question("c1")); err == nil {
				b.Errorf("got %+v from nobody", a)
			}
		}},
		{"a runner answers for its claims, each for itself", func(b *bench) {
			k := b.key("a")
			processes := []string{group + ".one", group + ".two"} // names begin with the group
			for _, process := range processes {
				runner := b.Rig.Runner(group)
				b.background(func(ctx context.Context) error {
					return runner.Answer(ctx, process, func(q protocol.RunnerQuestion) bool {
						if q.Chat != k.Chat {
							b.Errorf("question about chat %q, want %q", q.Chat, k.Chat)
						}
						return q.Claim == "of "+process
					})
				})
			}
			for _, process := range processes {
				for _, other := range processes {
					claim := "of " + other
					q := question(claim)
					q.Chat = k.Chat
					var answer protocol.RunnerAnswer
					b.untilServed(func(ctx context.Context) (err error) {
						answer, err = b.Signals.AskRunner(ctx, process, q)
						return err
					})
					if want := claim == "of "+process; answer.Running != want {
						b.Errorf("%s about the claim %q: running is %v, want %v", process, claim, answer.Running, want)
					}
				}
			}
		}},
	})
}

func question(claim string) protocol.RunnerQuestion {
	return protocol.RunnerQuestion{
		V: protocol.Version, Tenant: tenant, Chat: "a", Call: events.CallID{Turn: 1, Step: 1, Ordinal: 1}, Claim: claim,
	}
}
