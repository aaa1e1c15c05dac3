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
	"github.com/everturn/everturn/protocol"
)

// scheduler implements [membus.Gate]: it holds every operation back until the
// run lets it happen.
type scheduler struct {
	mu       sync.Mutex
	pending  []*operation // in the order of key
	counters map[string]int
	names    map[uintptr]string // of functions, by program counter
	wake     chan struct{}      // there is a new operation
	ended    chan struct{}      // there is one whose context has ended
	paused   func(process string) bool
}

// operation waits to happen.
type operation struct {
	*membus.Op
	key     string
	from    uint64 // the way by which the process's code came to it
	cause   string // the message because of which it is done, if it is one
	number  int    // of those with the same key, way and cause, in the order they came
	granted chan membus.Fate
	effect  func() // of one whose sender waits no longer
	expired error  // its context ended while its process stood still
	ended   error  // its context ended
}

func newScheduler() *scheduler {
	return &scheduler{counters: map[string]int{}, names: map[uintptr]string{}, wake: make(chan struct{}, 1), ended: make(chan struct{}, 1)}
}

func (s *scheduler) add(op *membus.Op, cause string, effect func()) *operation {
	s.mu.Lock()
	defer s.mu.Unlock()
	o := &operation{
		Op: op, key: op.Process.Name + " " + op.Kind + " " + op.Subject, granted: make(chan membus.Fate, 1), cause: cause, effect: effect,
	}
	o.from = s.way()
	counter := o.key + strconv.FormatUint(o.from, 36) + o.cause
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
	return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.from, b.from), strings.Compare(a.cause, b.cause), a.number-b.number)
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

// causeOf names the message because of which something is done. Several that are
// handed over at once, of one chat, are handled side by side in the same way.
func causeOf(ctx context.Context) string {
	d, ok := protocol.DeliveryOf(ctx)
	if !ok {
		return ""
	}
	return d.Subject() + " " + strconv.FormatUint(d.Sequence(), 10)
}

// Enter implements [membus.Gate].
func (s *scheduler) Enter(ctx context.Context, op *membus.Op) (membus.Fate, error) {
	o := s.add(op, causeOf(ctx), nil)
	select {
	case fate := <-o.granted:
		return fate, nil
	case <-ctx.Done():
		s.end(o, ctx.Err())
	case <-op.Process.Context().Done():
	}
	select { // who goes on first is not left to chance, if several contexts end in one instant
	case fate := <-o.granted:
		return fate, nil
	case <-op.Process.Context().Done():
		s.remove(o)
		return membus.Fate{}, membus.ErrKilled
	}
}

// end notes that nobody waits for the operation any more. A process that stands
// still will see that when it goes on. Then two things are true at once, as they are
// for a process that was stopped: the time is over, and what it waited for may have
// come.
func (s *scheduler) end(o *operation, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused != nil && s.paused(o.Process.Name) {
		o.expired = err
		return
	}
	o.ended = err
	select {
	case s.ended <- struct{}{}:
	default:
	}
}

// release lets the first of the operations fail whose contexts have ended, and says
// whether there was one.
func (s *scheduler) release() bool {
	s.mu.Lock()
	i := slices.IndexFunc(s.pending, func(o *operation) bool { return o.ended != nil && !o.Process.Killed() })
	if i < 0 {
		s.mu.Unlock()
		return false
	}
	o := s.pending[i]
	s.mu.Unlock()
	s.grant(o, membus.Fate{Refuse: o.ended})
	return true
}

// Float implements [membus.Gate].
func (s *scheduler) Float(op *membus.Op, effect func()) { s.add(op, "", effect) }

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
