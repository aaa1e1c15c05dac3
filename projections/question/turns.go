package question

import (
	"context"
	"sync"
)

// Turns bound how many questions are looked into at a time, and how many of one tenant:
// whoever asks much, or what is slow to answer, waits behind their own questions and
// leaves room for others. They are safe for concurrent use.
type Turns struct {
	all  chan struct{}
	each int

	mu      sync.Mutex
	tenants map[string]*line // of those who ask or wait
}

// line is where the questions of a tenant wait.
type line struct {
	free chan struct{}
	in   int // who hold a turn, or wait for one
}

// NewTurns makes turns for all questions at a time, and for each of one tenant.
func NewTurns(all, each int) *Turns {
	return &Turns{all: make(chan struct{}, all), each: each, tenants: make(map[string]*line)}
}

// Take waits for a turn of a tenant until ctx ends, whose error it then gives. Done ends
// the turn, and must be called.
func (t *Turns) Take(ctx context.Context, tenant string) (done func(), err error) {
	l := t.enter(tenant)
	select {
	case l.free <- struct{}{}:
	case <-ctx.Done():
		t.leave(tenant, l)
		return nil, ctx.Err()
	}
	select {
	case t.all <- struct{}{}:
	case <-ctx.Done():
		<-l.free
		t.leave(tenant, l)
		return nil, ctx.Err()
	}
	return func() {
		<-t.all
		<-l.free
		t.leave(tenant, l)
	}, nil
}

func (t *Turns) enter(tenant string) *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	l := t.tenants[tenant]
	if l == nil {
		l = &line{free: make(chan struct{}, t.each)}
		t.tenants[tenant] = l
	}
	l.in++
	return l
}

func (t *Turns) leave(tenant string, l *line) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if l.in--; l.in == 0 {
		delete(t.tenants, tenant)
	}
}
