package question

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
)

// However much one tenant asks, another one is answered at once.
func TestATenantThatAsksMuchLeavesRoomForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(3, 2)
		ctx, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for range 100 {
			asking.Go(func() {
				done, err := turns.Take(ctx, "busy")
				if err == nil {
					<-ctx.Done()
					done()
				} else if !errors.Is(err, context.Canceled) {
					t.Error(err)
				}
			})
		}
		synctest.Wait()
		if n := len(turns.all); n != 2 {
			t.Errorf("it has %d turns, want 2", n)
		}
		for range 10 {
			done, err := turns.Take(t.Context(), "other")
			if err != nil {
				t.Fatal(err)
			}
			done()
		}
		cancel()
		asking.Wait()
		if len(turns.all) != 0 || len(turns.tenants) != 0 {
			t.Errorf("left behind: %d turns, %d tenants", len(turns.all), len(turns.tenants))
		}
	})
}

// All together have no more than there are, and who gives up waiting leaves nothing.
func TestTurnsOfAllAreBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turns := NewTurns(3, 2)
		var ends []func()
		for _, tenant := range []string{"a", "a", "b"} {
			done, err := turns.Take(t.Context(), tenant)
			if err != nil {
				t.Fatal(err)
			}
			ends = append(ends, done)
		}
		gone, cancel := context.WithCancel(t.Context())
		var asking sync.WaitGroup
		for _, tenant := range []string{"a", "b", "c"} {
			asking.Go(func() {
				if _, err := turns.Take(gone, tenant); !errors.Is(err, context.Canceled) {
					t.Errorf("%s: %v", tenant, err)
				}
			})
		}
		synctest.Wait()
		cancel()
		asking.Wait()
		for _, done := range ends {
			done()
		}
		if len(turns.all) != 0 || len(turns.tenants) != 0 {
			t.Errorf("left behind: %d turns, %d tenants", len(turns.all), len(turns.tenants))
		}
	})
}
