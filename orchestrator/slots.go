package orchestrator

import "context"

// slots bound how much a loop has in hand.
type slots chan struct{}

func newSlots(n int) slots {
	s := make(slots, n)
	for range n {
		s <- struct{}{}
	}
	return s
}

// take waits for a free slot and takes all that are free; 0 means that ctx ended.
func (s slots) take(ctx context.Context) int {
	if !s.wait(ctx) {
		return 0
	}
	n := 1
	for s.try() {
		n++
	}
	return n
}

// wait waits for a free slot and takes it; false means that ctx ended.
func (s slots) wait(ctx context.Context) bool {
	if ctx.Err() != nil {
		return false
	}
	select {
	case <-s:
		return true
	case <-ctx.Done():
		return false
	}
}

// try takes a slot if one is free.
func (s slots) try() bool {
	select {
	case <-s:
		return true
	default:
		return false
	}
}

func (s slots) free(n int) {
	for range n {
		s <- struct{}{}
	}
}
