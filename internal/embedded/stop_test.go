package embedded

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"
)

// ending is a server that takes as long to stop.
type ending chan struct{}

func (e ending) Shutdown()      { <-e }
func (ending) WaitForShutdown() {}

// A server that ran out of disk may wait for its own locks; then whoever stops it would
// wait as long, and a process that was told to end would not.
func TestAServerThatDoesNotStopIsLeftBehind(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		stuck := make(ending)
		began := time.Now()
		if err := stop(stuck); !errors.Is(err, ErrStuck) || time.Since(began) != stopWait {
			t.Errorf("after %s: %v, want %v after %s", time.Since(began), err, ErrStuck, stopWait)
		}
		close(stuck)
		if err := stop(stuck); err != nil {
			t.Errorf("one that stops: %v", err)
		}
	})
}
