package orchestrator

import (
	"context"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/workers"
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
	waiting sync.WaitGroup // callers of do that work
	working workers.Group
}

func newMailboxes() *mailboxes { return &mailboxes{queues: make(map[events.Key][]task)} }

// post puts t at the end of the chat's queue.
func (m *mailboxes) post(k events.Key, t task) {
	if m.join(k, t) {
		m.working.Go(func() { m.work(k) })
	}
}

// do posts run and waits for it. Where nothing is in hand the caller's goroutine
// runs it, to its end: handing it to another costs more than many a task. When
// ctx ends while others are in hand, run may still come.
func (m *mailboxes) do(ctx context.Context, k events.Key, run func() error) error {
	ended := make(chan error, 1)
	if m.join(k, task{run: run, done: func(err error) { ended <- err }}) {
		m.waiting.Add(1)
		defer m.waiting.Done()
		m.step(k)
		if m.more(k) {
			m.working.Go(func() { m.work(k) })
		}
		return <-ended // which it has, whatever has become of ctx
	}
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// join puts t at the end of the chat's queue. True means that nobody works on
// the chat, and that the caller must.
func (m *mailboxes) join(k events.Key, t task) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	queue, busy := m.queues[k]
	m.queues[k] = append(queue, t)
	return !busy
}

// work runs the chat's tasks until there is none.
func (m *mailboxes) work(k events.Key) {
	for {
		m.step(k)
		if !m.more(k) {
			return
		}
	}
}

// step runs the chat's first task, of which there must be one.
func (m *mailboxes) step(k events.Key) {
	m.mu.Lock()
	queue := m.queues[k]
	t := queue[0]
	m.queues[k] = queue[1:]
	m.mu.Unlock()
	t.done(caught(t.run))
}

// more reports whether there is another task. If there is none, nobody works on
// the chat any more.
func (m *mailboxes) more(k events.Key) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.queues[k]) > 0 {
		return true
	}
	delete(m.queues, k)
	return false
}

// wait returns when every mailbox is empty. Nobody may post meanwhile.
func (m *mailboxes) wait() {
	m.waiting.Wait()
	m.working.Wait()
}

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
