package orchestrator

import (
	"context"
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
