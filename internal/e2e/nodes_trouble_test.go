//go:build processes

package e2e

import (
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// deaths is how many leaders are killed.
var deaths = flag.Int("deaths", 4, "how many servers are killed under load")

const (
	stepDowns = 10

	// suspension is how long a server is stopped where it is: longer than an
	// election, and as long as the pause that once cost somebody messages.
	suspension = 13 * time.Second

	turnsBetween = 20 // that end before the next trouble
)

// Three servers with the shipped configuration, three orchestrators and three
// runners carry a talk while leaders step down, one server is stopped where it is
// and goes on, leaders are killed, and everything is restarted piece by piece:
// everything said is answered once, no effect is had twice, every log is right.
func TestNodesUnderTrouble(t *testing.T) {
	n := startNodes(t, settings{ackWait: 2 * time.Second, script: busyTurn})
	n.startEach(len(n.list))
	l := n.startTalk()
	l.goesOn(turnsBetween)

	var all []trouble
	happens := func(kind string, what func()) {
		t.Helper()
		all = append(all, trouble{kind: kind, from: time.Now()})
		what()
		l.goesOn(turnsBetween)
		all[len(all)-1].until = time.Now()
	}
	shards := l.r.log.Shards()
	led := n.led(shards)
	for i := range stepDowns {
		happens("leader steps down", func() { n.stepDown(led[i%len(led)]) })
	}
	stopped := n.notOurs(led[0])
	happens("server is stopped, 13 s", func() {
		n.suspend(stopped)
		since := time.Now()
		l.goesOn(1) // the others go on without it
		<-time.After(suspension - time.Since(since))
		n.resume(stopped)
	})
	n.untilHealthy()
	for i := range *deaths {
		victim := n.leader(led[i%len(led)])
		happens("leader is killed", func() { n.kill(victim) })
		n.restartNode(victim)
		l.goesOn(turnsBetween)
	}
	for i, node := range n.list {
		happens("server is restarted", func() { n.lameDuck(node.name) })
		n.restartNode(node.name)
		for _, kind := range []string{"orchestrator", "toolrunner"} {
			part := fmt.Sprintf("%s-%d", kind, i+1)
			happens(kind+" is restarted", func() {
				n.terminate(part)
				n.restart(part)
			})
		}
	}

	histories := l.stop()
	t.Logf("%d turns of %d chats; %s\n%s", l.turns.Load(), len(histories), figures(n.everyMetric("orchestrator")), table(t, all, histories, shards))
	keys := slices.Collect(maps.Keys(histories))
	n.check(l.r, keys)
	n.eachEffectOnce(keys)
	n.everturn("verify")
}

// led are the streams whose leaders get into trouble, those of the log first.
func (n *nodes) led(shards int) []string {
	var names []string
	for shard := range shards {
		names = append(names, streams.LogStream(shard))
	}
	return append(names, streams.CommandsStream, streams.WorkStream, streams.TimersStream)
}

// trouble is something that happened to an installation.
type trouble struct {
	kind        string
	from, until time.Time
}

// table says what trouble of each kind cost: how long chats with an open turn
// stood still, and for how long no shard was written to.
func table(t *testing.T, all []trouble, histories map[events.Key]history, shards int) string {
	t.Helper()
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "trouble\ttimes\tchats\tstood still p50\tp99\tmax\twrite gap p50\tmax\teffects unknown\tsettled within")
	var kinds []string
	for _, one := range all {
		if !slices.Contains(kinds, one.kind) {
			kinds = append(kinds, one.kind)
		}
	}
	for _, kind := range kinds {
		var still, settled, gaps []time.Duration
		times := 0
		for _, one := range all {
			if one.kind != kind {
				continue
			}
			times++
			gaps = append(gaps, writeGap(one, histories, shards))
			for _, h := range histories {
				switch d, open, unknown := h.stoodStill(one.from); {
				case open && unknown:
					settled = append(settled, d)
				case open:
					still = append(still, d)
				}
			}
		}
		fmt.Fprintf(w, "%s\t%d\t%d\t%v\t%v\t%v\t%v\t%v\t%d\t%v\n", kind, times, len(still),
			percentile(still, 50), percentile(still, 99), percentile(still, 100),
			percentile(gaps, 50), percentile(gaps, 100), len(settled), percentile(settled, 100))
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// writeGap is the longest time, while there was trouble, in which a shard took no
// commit.
func writeGap(one trouble, histories map[events.Key]history, shards int) time.Duration {
	stored := map[int][]time.Time{}
	for k, h := range histories {
		shard := protocol.Shard(k, shards)
		for _, at := range h.stored {
			if at.After(one.from) && at.Before(one.until) {
				stored[shard] = append(stored[shard], at)
			}
		}
	}
	var longest time.Duration
	for _, taken := range stored {
		slices.SortFunc(taken, time.Time.Compare)
		before := one.from
		for _, at := range taken {
			longest, before = max(longest, at.Sub(before)), at
		}
	}
	return longest
}

// percentile of durations, by the nearest rank; 0 of none.
func percentile(list []time.Duration, p int) time.Duration {
	if len(list) == 0 {
		return 0
	}
	slices.Sort(list)
	return rounded(list[max((len(list)*p+99)/100-1, 0)])
}
