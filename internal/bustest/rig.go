// Package bustest holds the conformance suites of the ports that orchestrators
// and tool runners declare: one suite for each port, run on the real server and
// on the simulation's bus. What a suite asks for is what the loops rely on; a
// bus that passes here and still surprises a loop is a test missing here.
package bustest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/toolrunner"
)

// Rig is an empty store and what stands around it. Everything in it is safe for
// concurrent use, and closed by the test's cleanup.
type Rig struct {
	// Bus and Other are the ports of two orchestrator processes over one store.
	orchestrator.Bus
	Other orchestrator.Bus

	// Runner gives the ports of a new tool runner process of the group. The
	// suites use the groups "local" and "remote".
	Runner func(group string) toolrunner.Bus

	// Publish stores a command as a client would, and gives its sequence.
	Publish func(k events.Key, verb string, header map[string]string, body []byte) (uint64, error)

	// Listen subscribes to the outcome of a command, as a client would, and is
	// subscribed when it returns. The function it gives waits for one outcome.
	Listen func(tenant, command string) (func(context.Context) (protocol.Reply, error), error)

	// AckWait is that of every queue: how long a delivery may stay unsettled.
	// Half a second to two are good values.
	AckWait time.Duration
}

// Run runs every suite, each on a rig of its own.
func Run(t *testing.T, rig func(t *testing.T) Rig) {
	t.Helper()
	for _, suite := range []struct {
		name string
		run  func(t *testing.T, r Rig)
	}{
		{"Log", Log},
		{"Heads", Heads},
		{"Commands", Commands},
		{"Work", Work},
		{"Timers", Timers},
		{"Requests", Requests},
		{"Signals", Signals},
		{"Feed", Feed},
		{"Blobs", Blobs},
		{"Tools", Tools},
		{"Snapshots", Snapshots},
		{"Dead", Dead},
		{"Runner", Runner},
	} {
		t.Run(suite.name, func(t *testing.T) {
			t.Parallel()

			suite.run(t, rig(t))
		})
	}
}

// Pools and groups the suites use.
const (
	pool        = "default"
	group       = "local"
	otherGroup  = "remote"
	tenant      = "default"
	patience    = 30 * time.Second      // until a fact that must come is given up
	lookAgain   = 5 * time.Millisecond  // between two looks at a fact that nobody announces
	contenders  = 4                     // goroutines that race for one thing, on each bus
	slack       = 20 * time.Millisecond // by which two clocks of one machine may differ
	timerPeriod = 300 * time.Millisecond
)

// rules runs the tests of a suite one after the other, in order: they share the
// rig's queues, and each leaves them empty.
func rules(t *testing.T, r Rig, tests []rule) {
	t.Helper()
	for i, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			tt.check(&bench{T: t, Rig: r, ctx: ctx, n: i + 1})
		})
	}
}

type rule struct {
	name  string
	check func(b *bench)
}

// bench is what one rule works with.
type bench struct {
	*testing.T
	Rig
	ctx context.Context // of the rule, with its patience
	n   int
}

// key names a chat that no other rule of the suite uses.
func (b *bench) key(chat string) events.Key {
	return events.Key{Tenant: tenant, Chat: fmt.Sprintf("rule%d-%s", b.n, chat)}
}

// must ends the rule on an error.
func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// want checks that err is the given kind of error.
func (b *bench) want(err, kind error) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Fatalf("got error %v, want one that is %q", err, kind)
	}
}

// wantSoft is want for goroutines other than the test's.
func (b *bench) wantSoft(err, kind error) {
	b.Helper()
	if !errors.Is(err, kind) {
		b.Errorf("got error %v, want one that is %q", err, kind)
	}
}

// eventually looks until the fact holds.
func (b *bench) eventually(what string, holds func() bool) {
	b.Helper()
	for !holds() {
		select {
		case <-b.ctx.Done():
			b.Fatalf("never came true: %s", what)
		case <-time.After(lookAgain):
		}
	}
}

// fetcher is any of the ports' fetches.
type fetcher func(ctx context.Context, limit int) ([]protocol.Delivery, error)

// one fetches exactly one message.
func (b *bench) one(fetch fetcher) protocol.Delivery {
	b.Helper()
	d, err := fetch(b.ctx, 1)
	b.must(err)
	if len(d) != 1 {
		b.Fatalf("fetched %d messages, want 1", len(d))
	}
	return d[0]
}

// take fetches until it has n messages.
func (b *bench) take(fetch fetcher, n int) []protocol.Delivery {
	b.Helper()
	var got []protocol.Delivery
	for len(got) < n {
		d, err := fetch(b.ctx, n-len(got))
		b.must(err)
		if len(d) == 0 {
			b.Fatal("fetch came back with nothing and no error")
		}
		got = append(got, d...)
	}
	return got
}

// nothing checks that fetch hands over nothing for a while.
func (b *bench) nothing(fetch fetcher, while time.Duration) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, while)
	defer cancel()
	d, err := fetch(ctx, 1)
	for _, d := range d {
		b.Errorf("fetched %s for the %d. time, want nothing", d.Subject(), d.Count())
	}
	if len(d) == 0 {
		b.want(err, context.DeadlineExceeded)
	}
}

func (b *bench) ack(d protocol.Delivery) {
	b.Helper()
	b.must(d.Ack(b.ctx))
}

// background runs f until the rule ends, and waits for it.
func (b *bench) background(f func(ctx context.Context) error) {
	b.Helper()
	ctx, cancel := context.WithCancel(b.ctx)
	done := make(chan error, 1)
	go func() { done <- f(ctx) }()
	b.Cleanup(func() {
		cancel()
		select {
		case err := <-done:
			if err != nil && !errors.Is(err, context.Canceled) {
				b.Errorf("ended with %v, want nil or the context's error", err)
			}
		case <-time.After(patience):
			b.Error("did not return when its context ended")
		}
	})
}
