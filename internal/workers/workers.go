// Package workers runs short functions side by side on goroutines that stay.
//
// The stack of a goroutine starts small and is copied each time it grows. For
// functions that go deep and end soon, as those that read and write JSON, that
// is a good part of what they cost.
package workers

import (
	"sync"
	"sync/atomic"
)

// maxIdle is how many goroutines of a group are kept for what comes next.
const maxIdle = 64

// Group runs functions. The zero value is ready. It is not to be copied.
type Group struct {
	running sync.WaitGroup // functions
	staying sync.WaitGroup // goroutines
	idle    atomic.Int64

	once  sync.Once
	next  chan func()
	ended chan struct{}
}

func (g *Group) open() {
	g.once.Do(func() { g.next, g.ended = make(chan func()), make(chan struct{}) })
}

// Go runs f on a goroutine that has nothing to do, or on a new one.
func (g *Group) Go(f func()) {
	g.open()
	g.running.Add(1)
	select {
	case g.next <- f:
	default:
		g.staying.Go(func() { g.work(f) })
	}
}

func (g *Group) work(f func()) {
	for {
		g.run(f)
		if g.idle.Add(1) > maxIdle {
			g.idle.Add(-1)
			return
		}
		select {
		case f = <-g.next:
			g.idle.Add(-1)
		case <-g.ended:
			return
		}
	}
}

func (g *Group) run(f func()) {
	defer g.running.Done()
	f()
}

// Wait returns when every function and every goroutine has ended. It is called
// once. Only running functions may call Go meanwhile; after it nobody may.
func (g *Group) Wait() {
	g.open()
	g.running.Wait()
	close(g.ended)
	g.staying.Wait()
}
