package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
)

// Answers to a delivered message.
const (
	ackDone       = "+ACK"
	ackInProgress = "+WPI"
	ackLater      = "-NAK"
)

// Delivery is a message that a consumer handed over. It implements
// [protocol.Delivery].
//
// Settling does not wait for the server: an acknowledgement that is lost leads
// to one more delivery, and every handler must stand that anyway.
type Delivery struct {
	nc         *nats.Conn
	message    *nats.Msg
	meta       *nats.MsgMetadata
	reconnects uint64 // of the connection, when the message was asked for
}

func newDelivery(nc *nats.Conn, m *nats.Msg, reconnects uint64) (*Delivery, error) {
	meta, err := m.Metadata()
	if err != nil {
		return nil, fmt.Errorf("message on %s was not delivered by a consumer: %w", m.Subject, err)
	}
	return &Delivery{nc: nc, message: m, meta: meta, reconnects: reconnects}, nil
}

// Subject is where the message was published.
func (d *Delivery) Subject() string { return d.message.Subject }

// Header is the first value of a header, empty if there is none.
func (d *Delivery) Header(key string) string { return d.message.Header.Get(key) }

// Body is the message's content. It must not be changed.
func (d *Delivery) Body() []byte { return d.message.Data }

// Sequence is the message's number in its stream.
func (d *Delivery) Sequence() uint64 { return d.meta.Sequence.Stream }

// Count is how many times the message was delivered, this time included.
func (d *Delivery) Count() uint64 { return d.meta.NumDelivered }

// Stored is when the server took the message.
func (d *Delivery) Stored() time.Time { return d.meta.Timestamp }

// InProgress begins the ack wait anew.
func (d *Delivery) InProgress(context.Context) error { return d.settle(ackInProgress) }

// Ack says that all the message caused is stored.
func (d *Delivery) Ack(context.Context) error {
	if d.doubtful() {
		return nil
	}
	return d.settle(ackDone)
}

// Later asks for another delivery after delay, 0 for one at once.
func (d *Delivery) Later(_ context.Context, delay time.Duration) error {
	if d.doubtful() {
		return nil
	}
	if delay <= 0 {
		return d.settle(ackLater)
	}
	return d.settle(fmt.Sprintf(`%s {"delay":%d}`, ackLater, delay.Nanoseconds()))
}

// doubtful reports whether the message's number may stand for another message
// by now. A single server that dies loses the newest of what it stores late, and
// gives their numbers again; settling by number would then take work away that
// somebody else has in hand. Not to settle only brings the message once more.
func (d *Delivery) doubtful() bool {
	return d.meta.Stream != CommandsStream && d.nc.Stats().Reconnects != d.reconnects
}

// settle does not look at a context: a publish only fills the connection's
// buffer, and a loop that is stopping must still settle what it holds.
func (d *Delivery) settle(answer string) error {
	if err := d.nc.Publish(d.message.Reply, []byte(answer)); err != nil {
		return fmt.Errorf("settle message %d of %s: %w", d.Sequence(), d.meta.Stream, err)
	}
	return nil
}
