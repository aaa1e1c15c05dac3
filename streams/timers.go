package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/protocol"
)

// scheduleAt begins a schedule that fires once. The client library's own helper
// cuts to seconds, so that a timer would come too early.
const scheduleAt = "@at "

// Timers wakes chats by schedules in the server. It implements the timers port
// of orchestrators.
type Timers struct {
	c     *connection
	queue *queue
}

// Set schedules the timer, replacing a schedule of the same chat and name. One
// that is overdue fires at once.
func (t *Timers) Set(ctx context.Context, timer protocol.Timer) error {
	body, err := json.Marshal(timer)
	if err != nil {
		return fmt.Errorf("timer %s of %s: %w", timer.Name, timer.Key(), err)
	}
	due := timer.Due.Time()
	if due.IsZero() { // the server would take the zero time for no schedule, and never fire
		due = time.Unix(0, 0).UTC()
	}
	_, err = t.c.publish(ctx, &nats.Msg{
		Subject: protocol.TimerSetSubject(timer.Key(), timer.Name),
		Header: nats.Header{
			jetstream.ScheduleHeader:       {scheduleAt + due.Format(time.RFC3339Nano)},
			jetstream.ScheduleTargetHeader: {protocol.TimerDueSubject(timer.Key(), timer.Name)},
		},
		Data: body,
	})
	return translate(err, "timer %s of %s", timer.Name, timer.Key())
}

// FetchDue waits for at least one timer that is due.
func (t *Timers) FetchDue(ctx context.Context, limit int) ([]protocol.Delivery, error) {
	return t.queue.fetch(ctx, limit)
}
