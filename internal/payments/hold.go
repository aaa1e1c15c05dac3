package payments

import (
	"slices"
	"sync"
)

// Moment is a place in the work on a payment, at which it can be held.
type Moment string

// The moments, in their order.
const (
	BeforeEffect Moment = "before the effect" // the key is taken, nothing is paid
	DuringEffect Moment = "during the effect" // it is paid, and whoever asks again is told to wait
	AfterEffect  Moment = "after the effect"  // whoever asks again is told the outcome; this one is not answered yet
)

// Hold is for one payment, which waits at a moment for its release.
type Hold struct {
	reference string
	moment    Moment
	reached   chan struct{}
	released  chan struct{}
	release   func()
}

// Hold holds the next payment with the reference that comes to the moment, and
// none after it.
func (s *Service) Hold(reference string, at Moment) *Hold {
	h := &Hold{reference: reference, moment: at, reached: make(chan struct{}), released: make(chan struct{})}
	h.release = sync.OnceFunc(func() { close(h.released) })
	s.mu.Lock()
	defer s.mu.Unlock()
	s.holds = append(s.holds, h)
	return h
}

// Reached is closed when the payment is there.
func (h *Hold) Reached() <-chan struct{} { return h.reached }

// Release lets the payment go on, or not be held at all.
func (h *Hold) Release() { h.release() }

// hold blocks where somebody holds the payment, until it is released or the
// service is closed.
func (s *Service) hold(reference string, at Moment) {
	h := s.takeHold(reference, at)
	if h == nil {
		return
	}
	close(h.reached)
	select {
	case <-h.released:
	case <-s.closed:
	}
}

// takeHold is the oldest hold for a payment at a moment, or nil.
func (s *Service) takeHold(reference string, at Moment) *Hold {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.holds, func(h *Hold) bool { return h.reference == reference && h.moment == at })
	if i < 0 {
		return nil
	}
	h := s.holds[i]
	s.holds = slices.Delete(s.holds, i, i+1)
	return h
}
