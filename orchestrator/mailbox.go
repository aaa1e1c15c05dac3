package orchestrator

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/everturn/everturn/events"
)

// task is something to do about one chat. It says itself what becomes of its
// outcome, so nobody need wait for it.
type task struct {
	run  func() error
	done func(error) // called once, after run, also when run panicked
}

// mailboxes keep the tasks of each chat in order and let one run at a time. A
// mailbox exists while it has tasks. Their number is bounded by those who
// post: each loop takes only as many messages as it has room for.
type mailboxes struct {
	mu      sync.Mutex
	queues  map[events.Key][]task
	working sync.WaitGroup
}

func newMailboxes() *mailboxes { return &mailboxes{queues: make(map[events.Key][]task)} }

// post puts t at the end of the chat's queue.
func (m *mailboxes) post(k events.Key, t task) {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue, busy := m.queues[k]
	m.queues[k] = append(queue, t)
	if !busy {
		m.working.Go(func() { m.work(k) })
	}
}

// do posts run and waits for it. When ctx ends first, run may still come.
func (m *mailboxes) do(ctx context.Context, k events.Key, run func() error) error {
	ended := make(chan error, 1)
	m.post(k, task{run: run, done: func(err error) { ended <- err }})
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// work runs the chat's tasks until there is none.
func (m *mailboxes) work(k events.Key) {
	for {
		t, ok := m.next(k)
		if !ok {
			return
		}
		t.done(caught(t.run))
	}
}

func (m *mailboxes) next(k events.Key) (task, bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue := m.queues[k]
	if len(queue) == 0 {
		delete(m.queues, k)
		return task{}, false
	}
	m.queues[k] = queue[1:]
	return queue[0], true
}

// wait returns when every mailbox is empty. Nobody may post meanwhile.
func (m *mailboxes) wait() { m.working.Wait() }

// panicError is a panic that was caught.
type panicError struct {
	value any
	stack []byte
}

func (e *panicError) Error() string { return fmt.Sprintf("panic: %v", e.value) }

// caught runs f and gives a panic in it as a [*panicError].
func caught(f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = &panicError{value: v, stack: debug.Stack()}
		}
	}()
	return f()
}

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
