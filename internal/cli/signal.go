package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
)

// exitSignal plus the signal's number is the exit code of a process that a
// signal ended: 130 for an interrupt, 143 for TERM.
const exitSignal = 128

// SignalError means that a signal ended the process before it was done.
type SignalError struct{ Signal syscall.Signal }

func (e *SignalError) Error() string { return fmt.Sprintf("ended by a signal: %v", e.Signal) }

// Signals are those that ask a process to end.
func Signals() []os.Signal { return []os.Signal{os.Interrupt, syscall.SIGTERM} }

// Signalled is the error for a signal that was received.
func Signalled(s os.Signal) error {
	number, _ := s.(syscall.Signal) // on every system we build for
	return &SignalError{Signal: number}
}

// untilSignal ends the context it gives at the first signal; its cause is then a
// [*SignalError]. From then on a signal does what it does without us.
func untilSignal(ctx context.Context) (until context.Context, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	received := make(chan os.Signal, 1)
	signal.Notify(received, Signals()...)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		select {
		case s := <-received:
			cancel(Signalled(s))
		case <-ctx.Done():
		}
		signal.Stop(received)
	}()
	return ctx, func() {
		cancel(context.Canceled)
		<-ended
	}
}
