package sim

import (
	"cmp"
	"context"
	"hash/fnv"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/everturn/everturn/internal/membus"
)

// scheduler implements [membus.Gate]: it holds every operation back until the
// run lets it happen.
type scheduler struct {
	mu       sync.Mutex
	pending  []*operation // in the order of key
	counters map[string]int
	names    map[uintptr]string // of functions, by program counter
	wake     chan struct{}      // there is a new operation
	paused   func(process string) bool
}

// operation waits to happen.
type operation struct {
	*membus.Op
	key     string
	from    uint64 // the way by which the process's code came to it
	number  int    // of those with the same key and way, in the order they came
	granted chan membus.Fate
	effect  func() // of one whose sender waits no longer
	expired error  // its context ended while its process stood still
}

func newScheduler() *scheduler {
	return &scheduler{counters: map[string]int{}, names: map[uintptr]string{}, wake: make(chan struct{}, 1)}
}

func (s *scheduler) add(op *membus.Op, effect func()) *operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &operation{
		Op: op, key: op.Process.Name + " " + op.Kind + " " + op.Subject, granted: make(chan membus.Fate, 1), effect: effect,
	}
	o.from = s.way()
	counter := o.key + strconv.FormatUint(o.from, 36)
	s.counters[counter]++
	o.number = s.counters[counter]
	at, _ := slices.BinarySearchFunc(s.pending, o, compareOperations)
	s.pending = slices.Insert(s.pending, at, o)
	select {
	case s.wake <- struct{}{}:
	default:
	}
	return o
}

func compareOperations(a, b *operation) int {
	return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.from, b.from), a.number-b.number)
}

// maxFrames is how much of a call stack tells ways apart.
const maxFrames = 24

// way is a number for the functions that led here. Two parts of one process may
// want the same operation in the same instant, and which of them comes first is
// nobody's choice; this tells them apart all the same. The lock is held.
func (s *scheduler) way() uint64 {
	var stack [maxFrames]uintptr
	h := fnv.New64a()
	for _, pc := range stack[:runtime.Callers(4, stack[:])] {
		name, known := s.names[pc]
		if !known {
			if f := runtime.FuncForPC(pc); f != nil {
				name = f.Name()
			}
			s.names[pc] = name
		}
		_, _ = h.Write([]byte(name)) // a hash never fails
	}
	return h.Sum64()
}

func (s *scheduler) remove(o *operation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.pending = slices.DeleteFunc(s.pending, func(other *operation) bool { return other == o })
}

// Enter implements [membus.Gate].
func (s *scheduler) Enter(ctx context.Context, op *membus.Op) (membus.Fate, error) {
	o := s.add(op, nil)
	select {
	case fate := <-o.granted:
		return fate, nil
	case <-ctx.Done():
		if s.expire(o, ctx.Err()) {
			return s.enterExpired(o)
		}
		s.remove(o)
		return membus.Fate{}, ctx.Err()
	case <-op.Process.Context().Done():
		s.remove(o)
		return membus.Fate{}, membus.ErrKilled
	}
}

// expire notes that nobody waits for the operation any more, which its process
// will see when it goes on, if it stands still now.
func (s *scheduler) expire(o *operation, err error) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused == nil || !s.paused(o.Process.Name) {
		return false
	}
	o.expired = err
	return true
}

// enterExpired waits for the process to go on. Then two things are true at once,
// as they are for a process that was stopped: the time is over, and what it
// waited for may have come.
func (s *scheduler) enterExpired(o *operation) (membus.Fate, error) {
	select {
	case fate := <-o.granted:
		return fate, nil
	case <-o.Process.Context().Done():
		s.remove(o)
		return membus.Fate{}, membus.ErrKilled
	}
}

// Float implements [membus.Gate].
func (s *scheduler) Float(op *membus.Op, effect func()) { s.add(op, effect) }

// ready are the operations that can happen now, of processes that run. One
// whose time is over is always ready: to fail.
func (s *scheduler) ready(server *membus.Server) []*operation {
	s.mu.Lock()
	all := slices.Clone(s.pending)
	s.mu.Unlock()
	return slices.DeleteFunc(all, func(o *operation) bool {
		return o.effect == nil && s.paused(o.Process.Name) || o.expired == nil && !server.Ready(o.Op)
	})
}

// grant lets the operation happen.
func (s *scheduler) grant(o *operation, fate membus.Fate) {
	s.remove(o)
	if o.effect != nil {
		o.effect()
		return
	}
	o.granted <- fate
}

// choose picks one of the operations, by weight.
func choose(r *rand.Rand, ready []*operation, weight func(o *operation) float64) *operation {
	var total float64
	for _, o := range ready {
		total += weight(o)
	}
	at := r.Float64() * total
	for _, o := range ready {
		if at -= weight(o); at < 0 {
			return o
		}
	}
	return ready[len(ready)-1]
}
