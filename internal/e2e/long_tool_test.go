//go:build processes

package e2e

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/payments"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

var longFlag = flag.Duration("long", shortestLong, "how long the long tool works")

const (
	// shortestLong is long enough for every trouble to begin and end while the tool
	// works: two of them are elections, with a server that catches up.
	shortestLong = time.Minute

	// beginsWithin is the first part of the time, in which all trouble begins.
	beginsWithin = 0.5
)

// longTurns have a tool work for %d milliseconds.
const longTurns = `
rules:
  - when: {input: "work_once,", step: 1}
    answer:
      - call: {name: work_once, arguments: '{"reference": "{{input}}", "ms": %[1]d}'}
  - when: {input: "work,", step: 1}
    answer:
      - call: {name: work, arguments: '{"reference": "{{input}}", "ms": %[1]d}'}
  - answer:
      - text: "Told: {{result}}"
`

// A tool that works for ten minutes, on three servers with the shipped
// configuration, is none the worse for the death of an orchestrator, of both of
// them, of the server that leads its work, and of the one that leads its log: it
// is run once, is heard of all the time, and what it comes to is the result.
//
// Rule: S14.
func TestALongToolOutlivesWhoAskedForIt(t *testing.T) {
	if *longFlag < shortestLong {
		t.Fatalf("-long=%v: want at least %v", *longFlag, shortestLong)
	}
	n := startNodes(t, settings{ackWait: toolrunner.DefaultAckWait, script: fmt.Sprintf(longTurns, longFlag.Milliseconds())})
	service := startPayments(t, payments.Options{IgnoreKeys: true})
	n.runner = []string{"testrunner", "--payments", service.url, "--keyless", service.url}
	for i := range 2 {
		n.startOrchestrator(fmt.Sprintf("orchestrator-%d", i+1))
		n.startRunner(fmt.Sprintf("toolrunner-%d", i+1))
	}
	n.untilOffered("work", "work_once")
	cl, r := n.client(), n.reader()

	began := time.Now()
	var calls []*longCall
	for _, tool := range []string{"work_once", "work"} {
		calls = append(calls, n.startLong(cl, tool))
	}
	once := calls[0]
	troubles := []struct {
		what string
		make func()
	}{
		{"an orchestrator is killed", func() {
			n.kill("orchestrator-1")
			n.restart("orchestrator-1")
		}},
		{"both orchestrators are killed", func() {
			n.kill("orchestrator-1")
			n.kill("orchestrator-2")
			n.restart("orchestrator-1")
			n.restart("orchestrator-2")
		}},
		{"the leader of the work is killed", func() { n.dieAndReturn(streams.WorkStream) }},
		{"the leader of the log is killed", func() { n.dieAndReturn(streams.LogStream(protocol.Shard(once.key, r.log.Shards()))) }},
	}
	apart := time.Duration(float64(*longFlag) * beginsWithin / float64(len(troubles)))
	for i, trouble := range troubles {
		once.worked(apart * time.Duration(i+1))
		t.Logf("%v: %s", rounded(time.Since(began)), trouble.what)
		trouble.make()
		for _, c := range calls {
			c.worked(0) // it is still heard of
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), *longFlag+patience)
	defer cancel()
	var keys []events.Key
	for _, c := range calls {
		keys = append(keys, c.key)
		h := r.within(ctx, t, c.key, "the end of its turn", func(h history) bool { return h.ended(1) })
		c.judge(h, service.Effects())
	}
	n.check(r, keys)
	n.everturn("verify")
	t.Logf("two calls of %v ended after %v; heard of %d and %d times; %d times a runner was given one again",
		*longFlag, rounded(time.Since(began)), calls[0].heard, calls[1].heard, n.everyMetric("toolrunner").of(redelivered))
}

// dieAndReturn kills the leader of a stream and starts it again when another leads.
func (n *nodes) dieAndReturn(stream string) {
	n.t.Helper()
	victim := n.leader(stream)
	n.kill(victim)
	n.otherLeader(stream, victim)
	n.restartNode(victim)
}

// longCall is a call that takes long, and what is heard of it.
type longCall struct {
	t         *testing.T
	key       events.Key
	reference string
	progress  *nats.Subscription
	heard     int
}

// startLong has a tool work in a chat of its own.
func (c *cluster) startLong(cl *client.Client, tool string) *longCall {
	c.t.Helper()
	l := &longCall{t: c.t, key: cl.Key(client.NewID()), reference: tool + ", for long"}
	nc := c.connect()
	var err error
	if l.progress, err = nc.SubscribeSync(protocol.FeedProgressSubject(l.key)); err == nil {
		err = nc.Flush()
	}
	if err == nil {
		_, err = cl.Command(patient(c.t), l.key.Chat, protocol.Create{V: protocol.Version})
	}
	if err != nil {
		c.t.Fatal(err)
	}
	say(c.t, cl, l.key.Chat, l.reference)
	return l
}

// worked waits until the tool says that it has worked for so long, from now on.
func (l *longCall) worked(least time.Duration) {
	l.t.Helper()
	before, _, err := l.progress.Pending()
	if err != nil {
		l.t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(l.t.Context(), least+patience)
	defer cancel()
	for n := 0; ; n++ {
		if said := l.next(ctx); n >= before && said >= least {
			return
		}
	}
}

// next is how long it says that it has worked, the next time it is heard of.
func (l *longCall) next(ctx context.Context) time.Duration {
	l.t.Helper()
	m, err := l.progress.NextMsgWithContext(ctx)
	if err != nil {
		l.t.Fatalf("%s is not heard of any more: %v", l.reference, err)
	}
	var p protocol.Progress
	if err := json.Unmarshal(m.Data, &p); err != nil {
		l.t.Fatalf("progress of %s: %v", l.reference, err)
	}
	ms, err := strconv.Atoi(p.Text)
	if err != nil {
		l.t.Fatalf("progress of %s: %v", l.reference, err)
	}
	l.heard++
	return time.Duration(ms) * time.Millisecond
}

// judge looks at how it ended.
func (l *longCall) judge(h history, effects []payments.Effect) {
	l.t.Helper()
	results := every[events.ToolCompleted](h)
	if len(results) != 1 || results[0].Status != events.ToolOK || results[0].Timing.RanMS < longFlag.Milliseconds() {
		l.t.Errorf("%s: results %+v, want one that is ok and took %v\n%s", l.reference, results, *longFlag, h)
	}
	for _, mark := range []string{", begun", ", done"} {
		times := 0
		for _, e := range effects {
			if e.Reference == l.reference+mark {
				times++
			}
		}
		if times != 1 {
			l.t.Errorf("%s%s: %d times, want once", l.reference, mark, times)
		}
	}
	unread, _, err := l.progress.Pending()
	if err != nil {
		l.t.Error(err)
	}
	l.heard += unread
	if said := int(longFlag.Seconds()); l.heard < said/2 { // it says something each second
		l.t.Errorf("%s: heard of %d times of about %d", l.reference, l.heard, said)
	}
	if len(every[events.TurnCompleted](h)) != 1 {
		l.t.Errorf("%s: its turn did not complete\n%s", l.reference, h)
	}
}
