//go:build processes

package e2e

import (
	"flag"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/payments"
)

var roundsFlag = flag.Int("rounds", 10, "how often each part dies at each moment of an effect")

// atClaim is the moment at which a runner asks for its licence.
const atClaim = "at its claim"

// effectMoments are when a part dies, seen from the effect of a call.
var effectMoments = []string{atClaim, string(payments.BeforeEffect), string(payments.DuringEffect), string(payments.AfterEffect)}

// A tool pays at a service outside, and whatever dies at whatever moment of that,
// the log tells the truth about it: every effect has a result that is ok or
// unknown, what is ok was paid, and nothing is paid twice. A tool that hands on
// its key has paid exactly once and knows it.
//
// Rule: S14.
func TestEffectsAreToldAsTheyHappened(t *testing.T) {
	var lines effectTable
	t.Run("parts", func(t *testing.T) {
		for _, victim := range []string{"toolrunner", "orchestrator", "server", everything} {
			t.Run(victim, func(t *testing.T) {
				t.Parallel() // most of their time they wait
				r := startEffectRig(t, settings{ackWait: time.Second, script: purchases})
				for round := range *roundsFlag {
					for _, moment := range effectMoments {
						for _, paying := range r.together(moment) {
							r.dies(victim, moment, round, paying)
						}
					}
				}
				list := r.outcomes()
				r.judge(list)
				lines.add(list)
			})
		}
	})
	t.Logf("\n%s", &lines)
}

// everything is all parts at once, as when the power goes.
const everything = "everything"

// victimsOf are the processes of a kind, in the order in which they are started.
func victimsOf(kind string) []string {
	switch kind {
	case "server":
		return []string{kind}
	case everything:
		return slices.Concat(victimsOf("server"), victimsOf("orchestrator"), victimsOf("toolrunner"))
	}
	return []string{kind + "-1", kind + "-2"}
}

// together is which tools share a death at the moment. It cannot be at the claims
// of two.
func (r *effectRig) together(moment string) [][]payer {
	if moment != atClaim {
		return [][]payer{r.payers}
	}
	return slices.Collect(slices.Chunk(r.payers, 1))
}

// dies has tools pay, kills a part at the moment, and starts it again.
//
// In every other round of a part that there are two of, only one is there until
// then, so that it is surely at work when it dies, and the other has just come.
func (r *effectRig) dies(victim, moment string, round int, paying []payer) {
	r.t.Helper()
	who := victimsOf(victim)
	alone := len(who) == 2 && round%2 == 1
	theOther := who[len(who)-1]
	if alone {
		r.kill(theOther)
	}
	bought, holds := r.buy(victim, moment, round, paying)
	if alone {
		who = who[:1]
		if moment != atClaim { // that does not wait until a process has started
			r.restart(theOther)
		}
	}
	for _, name := range slices.Backward(who) { // a part that has just been started ends by itself without its server
		r.kill(name)
	}
	release := func() {
		for _, h := range holds {
			h.Release()
		}
	}
	if round%4 < 2 {
		release()
	}
	for _, name := range who {
		r.restart(name)
	}
	if alone && moment == atClaim {
		r.restart(theOther)
	}
	release() // else now: until then whoever comes again is told that it is in flight
	for _, p := range bought {
		if p.idempotent || !slices.Contains(who, "toolrunner-1") {
			r.ended(p)
		} // the others end when nobody can be at it any more, in later rounds
	}
}

// buy has tools pay, and returns when they are at the moment.
func (r *effectRig) buy(victim, moment string, round int, paying []payer) (bought []purchase, holds []*payments.Hold) {
	r.t.Helper()
	ctx := patient(r.t)
	for _, p := range paying {
		one := r.purchase(p, victim, moment, round)
		if bought = append(bought, one); moment == atClaim {
			claimed := r.claimOf(one.key)
			r.begin(one)
			if err := claimed(ctx); err != nil {
				r.t.Fatalf("%s: no claim: %v", one.reference, err)
			}
			continue
		}
		holds = append(holds, p.service.Hold(one.reference, payments.Moment(moment)))
		r.begin(one)
	}
	for i, h := range holds {
		select {
		case <-h.Reached():
		case <-ctx.Done():
			r.t.Fatalf("%s: nobody paid", bought[i].reference)
		}
	}
	return bought, holds
}

// effectTable is what came of the purchases, by who died and when.
type effectTable struct {
	mu   sync.Mutex
	rows []string
}

func (l *effectTable) add(list []purchased) {
	type row struct {
		victim, moment, tool string
	}
	type counts struct{ calls, effects, ok, unknown, unknownPaid int }
	sums := map[row]*counts{}
	var order []row
	for _, p := range list {
		of := row{p.victim, p.moment, p.tool}
		if sums[of] == nil {
			sums[of] = &counts{}
			order = append(order, of)
		}
		c := sums[of]
		c.calls++
		c.effects += p.effects
		switch p.status {
		case events.ToolOK:
			c.ok++
		case events.ToolUnknown:
			c.unknown++
			c.unknownPaid += p.effects
		default: // has been reported
		}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, of := range order {
		c := sums[of]
		l.rows = append(l.rows, fmt.Sprintf("%s\t%s\t%s\t%d\t%d\t%d\t%d\t%d", of.victim, of.moment, of.tool, c.calls, c.effects, c.ok, c.unknown, c.unknownPaid))
	}
}

func (l *effectTable) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "killed\twhen\ttool\tcalls\teffects\tok\tunknown\tof these paid")
	for _, row := range l.rows {
		fmt.Fprintln(w, row)
	}
	_ = w.Flush()
	return b.String()
}
