package toolrunner

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"
	"time"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol"
)

// letGo is how long a tool may take to return after its context ended. It is
// less than an interrupted turn waits for the result.
const letGo = 3 * time.Second

// ending is how a call ended, before anybody judges what that means.
type ending struct {
	output Output
	err    error // of the tool; errLeft if it did not return
	cause  error // why its context ended; nil if the tool returned by itself
	begun  bool  // whether the tool was called at all
	late   bool  // it was not, because the licence had run out by then
	ran    time.Duration
}

var (
	errPanic = errors.New("the tool broke down; it may have done a part of its work")
	errLeft  = errors.New("the tool did not stop when told to")
)

// execute runs the tool and returns when it has ended, or has been left behind.
// It does not begin after until. If the tool takes some time, watch runs beside
// it, until its context ends with that of the tool.
func (r *Runner) execute(
	ctx context.Context, t offered, c Call, timeout time.Duration, until time.Time, watch func(context.Context),
) ending {
	if ctx.Err() != nil {
		return ending{cause: context.Cause(ctx)}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, ErrTimeout)
	defer after(ctx, askEvery, func() { watch(ctx) })()
	defer cancel()

	began := time.Now()
	done := make(chan ending, 1) // so that a tool left behind can still end
	go func() {
		end := ending{begun: true, err: errPanic} // unless guarded returns: the tool may end its goroutine
		defer func() { done <- end }()
		end = r.guarded(ctx, t, c, until)
	}()

	var end ending
	select {
	case end = <-done:
	case <-ctx.Done():
		end = r.awaitCancelled(ctx, done, c)
	}
	if ctx.Err() != nil {
		end.cause = context.Cause(ctx)
	}
	end.ran = time.Since(began)
	return end
}

// awaitCancelled gives a cancelled tool a moment to return.
func (r *Runner) awaitCancelled(ctx context.Context, done <-chan ending, c Call) ending {
	timer := time.NewTimer(letGo)
	defer timer.Stop()
	select {
	case end := <-done:
		return end
	case <-timer.C:
		r.metrics.abandoned.Add(ctx, 1)
		r.log.Error("a tool ignores its cancellation and was left behind", "chat", c.Chat, "call", c.ID)
		return ending{begun: true, err: errLeft}
	}
}

// guarded calls the tool and turns a panic into an error. What the panic said
// may hold anything, so only the log gets it. The licence is looked at here, in
// the last moment: whatever has delayed this process up to now, a licence that
// has run out begins nothing.
func (r *Runner) guarded(ctx context.Context, t offered, c Call, until time.Time) (end ending) {
	if !time.Now().Before(until) {
		return ending{late: true}
	}
	returned := false
	defer func() {
		if returned {
			return
		}
		reason := recover()
		r.metrics.panics.Add(ctx, 1)
		r.log.Error("a tool panicked", "tool", t.manifest.Name, "chat", c.Chat, "call", c.ID,
			"reason", fmt.Sprint(reason), "stack", string(debug.Stack()))
		end = ending{begun: true, err: errPanic}
	}()
	output, err := t.tool.Run(ctx, c)
	returned = true
	return ending{begun: true, output: output, err: err}
}

// Limits of progress messages.
const (
	progressEvery    = 50 * time.Millisecond
	maxProgressBytes = 4 << 10
)

// progress is the Progress function of one call: what comes too fast is
// dropped, and the gap in the numbers shows it.
func (r *Runner) progress(ctx context.Context, k events.Key, call events.CallID) func(string) {
	var (
		mu   sync.Mutex
		i    int
		last time.Time
	)
	number := func() (int, bool) {
		mu.Lock()
		defer mu.Unlock()
		now := time.Now()
		n, due := i, i == 0 || now.Sub(last) >= progressEvery
		i++
		if due {
			last = now
		}
		return n, due
	}
	return func(text string) {
		n, due := number()
		if !due || ctx.Err() != nil {
			return
		}
		text = events.CutText(events.RepairText(text), maxProgressBytes)
		if err := r.bus.Progress(ctx, k, protocol.Progress{Call: call, I: n, Text: text}); err != nil {
			r.log.Debug("progress was not sent", "chat", k, "call", call, "error", err)
		}
	}
}
