//go:build processes

package e2e

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// busyTurn has an effect that must happen once and one that may happen again,
// and hardly a moment in which nothing is on its way.
const busyTurn = `
rules:
  - when: {step: 1}
    answer:
      - call: {name: append_ledger, arguments: '{"text": "{{input}}"}'}
      - call: {name: wait, arguments: '{"ms": 100}'}
  - answer:
      - pause: 100ms
      - text: "Noted: {{input}}"
`

const (
	outages        = 8
	outageChats    = 24
	commitsBetween = 150 // made before the server is killed again
	outageTime     = 3 * time.Minute
)

// The server dies again and again under load. What it had not written of the
// queues is put back from the log, and soon: no chat stands still for longer
// than 5 s, save those whose effect may have been cut in two.
func TestTheServerMayDieAgainAndAgain(t *testing.T) {
	t.Parallel()
	c := startCluster(t, settings{ackWait: time.Second, script: busyTurn})
	startParts(c)
	cl, r, ends := c.client(), c.reader(), c.turnEnds()
	ctx, cancel := context.WithTimeout(t.Context(), outageTime)
	defer cancel()

	keys := make([]events.Key, outageChats)
	for n := range keys {
		keys[n] = cl.Key(client.NewID())
		if _, err := cl.Command(ctx, keys[n].Chat, protocol.Create{V: protocol.Version}); err != nil {
			t.Fatal(err)
		}
	}
	over := make(chan struct{})
	talked := make(chan error, 1)
	spoken := make([]int, outageChats)
	go func() {
		talked <- together(outageChats, func(n int) error {
			for {
				select {
				case <-over:
					return nil
				default:
				}
				spoken[n]++
				ended := ends.of(keys[n])
				if _, err := cl.Command(ctx, keys[n].Chat, protocol.Send{
					V: protocol.Version, Parts: []events.Part{events.Text(fmt.Sprintf("chat %d turn %d", n, spoken[n]))},
				}); err != nil {
					return fmt.Errorf("chat %d: %w", n, err)
				}
				if err := r.afterEnd(ctx, ended, keys[n], spoken[n]); err != nil {
					return fmt.Errorf("chat %d turn %d: %w", n, spoken[n], err)
				}
			}
		})
	}()
	var kills []time.Time
	for range outages {
		c.untilCommits(ctx, commitsBetween)
		c.kill("server")
		kills = append(kills, time.Now())
		c.restart("server")
	}
	c.untilCommits(ctx, commitsBetween)
	close(over)
	if err := <-talked; err != nil {
		t.Fatal(err)
	}

	var recoveries, settled []time.Duration
	turns := 0
	for n, k := range keys {
		h, err := r.read(ctx, k)
		if err != nil {
			t.Fatal(err)
		}
		turns += spoken[n]
		for _, killed := range kills {
			switch gap, open, unknown := h.stillAfter(killed); {
			case !open:
			case unknown:
				settled = append(settled, gap)
			default:
				recoveries = append(recoveries, gap)
				if gap > quickRecover {
					t.Errorf("chat %s stood still for %v after the server was killed\n%s", k, gap, h)
				}
			}
		}
	}
	slices.Sort(recoveries)
	t.Logf("%d kills under %d turns: recovery p50 %v, max %v of %d; %d effects unknown, settled within %v; %s",
		outages, turns, rounded(recoveries[len(recoveries)/2]), rounded(recoveries[len(recoveries)-1]), len(recoveries),
		len(settled), rounded(slices.Max(append(settled, 0))), figures(c.everyMetric("orchestrator")))
	c.check(r, keys)
	c.eachEffectOnce(keys)
}

// untilCommits waits until the orchestrators have made so many more commits.
func (c *cluster) untilCommits(ctx context.Context, n int) {
	c.t.Helper()
	want := c.everyMetric("orchestrator").of(commitsMade) + n
	for c.everyMetric("orchestrator").of(commitsMade) < want {
		select {
		case <-ctx.Done():
			c.t.Fatalf("waited in vain for %d more commits", n)
		case <-time.After(poll):
		}
	}
}

// stillAfter is how long the chat stood still from a moment at which a turn was
// open, and whether a call whose outcome nobody knows was what ended that.
func (h history) stillAfter(moment time.Time) (gap time.Duration, open, unknown bool) {
	for _, c := range h.commits {
		if at := c.At.Time(); at.After(moment) {
			one := history{commits: []events.Commit{c}}
			return at.Sub(moment), open, one.unknown()
		}
		for _, e := range c.Events {
			switch e.(type) {
			case events.TurnStarted:
				open = true
			case events.TurnCompleted, events.TurnFailed, events.TurnInterrupted:
				open = false
			}
		}
	}
	return 0, false, false
}
