package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/events"
)

const (
	clockTries = 3 // the quickest answer says most

	// clockRounding is left out of the judgement: nobody sets a clock to less.
	clockRounding = time.Millisecond
)

// Clock is how the clock of this machine stands to that of the server.
type Clock struct {
	// Ahead is by how much this machine is ahead; negative if it is behind.
	Ahead time.Duration

	// Within is how far the truth may be from Ahead, which is measured with a
	// question that takes its time.
	Within time.Duration
}

// Agrees reports whether the clocks may agree as far as licences need it.
func (c Clock) Agrees() bool { return c.Ahead.Abs()-c.Within <= events.Skew }

// String is for people.
func (c Clock) String() string {
	switch ahead := c.Ahead.Round(clockRounding); {
	case ahead > 0:
		return fmt.Sprintf("%v ahead of the server's", ahead)
	case ahead < 0:
		return fmt.Sprintf("%v behind the server's", -ahead)
	}
	return "equal to the server's"
}

// ClockError means that the clocks are further apart than licences to run tools
// allow, so that a tool could begin after its call was settled.
type ClockError struct{ Clock Clock }

func (e *ClockError) Error() string {
	return fmt.Sprintf("the clock of this machine is %v, and they must agree within %v: synchronise both with NTP", e.Clock, events.Skew)
}

// ClockOffset compares now with the clock of the server that leads COMMANDS,
// which stands in each of its answers. Now is usually [time.Now].
func ClockOffset(ctx context.Context, nc *nats.Conn, o Options, now func() time.Time) (Clock, error) {
	js, err := o.jetStream(nc)
	if err != nil {
		return Clock{}, fmt.Errorf("compare clocks: %w", err)
	}
	var best Clock
	for n := range clockTries {
		c, err := clockOffset(ctx, js, now)
		if err != nil {
			return Clock{}, translate(err, "compare clocks")
		}
		if n == 0 || c.Within < best.Within {
			best = c
		}
	}
	return best, nil
}

func clockOffset(ctx context.Context, js jetstream.JetStream, now func() time.Time) (Clock, error) {
	asked := now()
	stream, err := js.Stream(ctx, CommandsStream)
	if err != nil {
		return Clock{}, err
	}
	half := now().Sub(asked) / 2
	return Clock{Ahead: asked.Add(half).Sub(stream.CachedInfo().TimeStamp), Within: half}, nil
}

// CheckClock fails with a [*ClockError] if the clocks are too far apart.
func CheckClock(ctx context.Context, nc *nats.Conn, o Options, now func() time.Time) error {
	c, err := ClockOffset(ctx, nc, o, now)
	if err != nil {
		return err
	}
	if !c.Agrees() {
		return &ClockError{Clock: c}
	}
	return nil
}
