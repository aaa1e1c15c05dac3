package workers_test

import (
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/everturn/everturn/internal/deptest"
	"github.com/everturn/everturn/internal/workers"
)

func TestDependencies(t *testing.T) {
	deptest.OnlyOurs(t)
}

func TestEveryFunctionRunsAndNoGoroutineIsLeft(t *testing.T) {
	defer goleak.VerifyNone(t)
	const callers, each = 8, 1000
	var g workers.Group
	var ran atomic.Int64
	for range callers {
		g.Go(func() {
			for range each {
				g.Go(func() { ran.Add(1) })
			}
		})
	}
	g.Wait()
	if got := ran.Load(); got != callers*each {
		t.Errorf("%d functions ran, want %d", got, callers*each)
	}
}

// Functions that wait for each other must all be running.
func TestNoFunctionWaitsForAnother(t *testing.T) {
	t.Parallel()
	const n = 1000
	var g workers.Group
	all := make(chan struct{})
	var here atomic.Int64
	for range n {
		g.Go(func() {
			if here.Add(1) == n {
				close(all)
			}
			<-all
		})
	}
	g.Wait()
	if got := here.Load(); got != n {
		t.Errorf("%d functions ran, want %d", got, n)
	}
}

func TestNothingToWaitFor(t *testing.T) {
	t.Parallel()
	var g workers.Group
	g.Wait()
}
