package membus

import (
	"context"
	"errors"
	"time"
)

// ErrUnavailable is what an operation fails with when the bus does not answer.
var ErrUnavailable = errors.New("the bus does not answer")

// ErrKilled is what every operation of a killed process fails with.
var ErrKilled = errors.New("the process was killed")

// Op is an operation that a process wants to perform.
type Op struct {
	Process *Process
	Kind    string // "log.append"
	Subject string // what it is about
	Stage   Stage

	ready func() bool // nil: always
}

// Stage says what may go wrong with an operation.
type Stage int

// The stages.
const (
	StageWrite   Stage = iota // stores something; its answer may be lost, its effect late
	StageRead                 // stores nothing; may fail
	StageReceive              // takes what has come; it may be lost, if losing is allowed, or come twice
	StageMust                 // takes what has come and is not lost
	StageBegin                // begins something; only fails with its process
)

// Fate is how an operation goes. Zero is well.
type Fate struct {
	Refuse error // it fails, nothing was done
	Lose   error // it is done, and fails all the same
	Late   error // it fails now, and is done later, see [Gate.Float]
	Drop   bool  // of StageReceive: what was to be received is lost
	Twice  bool  // of StageReceive: it comes once more
	Crash  bool  // it is done, and its process dies before it knows
	Draw   uint64
}

// Gate decides when operations happen.
type Gate interface {
	// Enter waits until op may happen, or gives an error: that of ctx, or
	// [ErrKilled].
	Enter(ctx context.Context, op *Op) (Fate, error)

	// Float takes an effect whose sender waits no longer. It may be done at any
	// later time, once.
	Float(op *Op, effect func())
}

// Ready reports whether op can be done now. Operations that wait for something
// are ready when it is there.
func (s *Server) Ready(op *Op) bool {
	if op.ready == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return op.ready()
}

// step performs an operation of p: it waits until ready, which is asked with
// the lock held, and does effect, with the lock held, as the gate's fate has it.
func step[T any](ctx context.Context, p *Process, op Op, effect func(f Fate) (T, error)) (T, error) {
	var zero T
	op.Process = p
	if p.Killed() {
		return zero, ErrKilled
	}
	if err := ctx.Err(); err != nil {
		return zero, err
	}
	s := p.server
	if s.options.Gate == nil {
		return direct(ctx, s, op.ready, effect)
	}
	fate, err := s.options.Gate.Enter(ctx, &op)
	if err != nil {
		return zero, err
	}
	if fate.Refuse != nil {
		return zero, fate.Refuse
	}
	if fate.Late != nil {
		s.options.Gate.Float(&op, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			_, _ = effect(Fate{Draw: fate.Draw})
		})
		return zero, fate.Late
	}
	s.mu.Lock()
	value, err := effect(fate)
	s.mu.Unlock()
	switch {
	case fate.Crash:
		p.Kill()
		return zero, ErrKilled
	case fate.Lose != nil:
		return zero, fate.Lose
	}
	return value, err
}

// direct is step without a gate.
func direct[T any](ctx context.Context, s *Server, ready func() bool, effect func(f Fate) (T, error)) (T, error) {
	for {
		s.mu.Lock()
		if ready == nil || ready() {
			value, err := effect(Fate{})
			s.mu.Unlock()
			return value, err
		}
		changed, next := s.changed, s.next()
		s.mu.Unlock()
		var timer <-chan time.Time
		if !next.IsZero() {
			timer = time.After(time.Until(next))
		}
		select {
		case <-ctx.Done():
			var zero T
			return zero, ctx.Err()
		case <-changed:
		case <-timer:
		}
	}
}
