package protocol

import (
	"context"
	"time"
)

// Delivery is one message handed over by a queue, to be settled by exactly one
// of Ack and Later. Until then nobody else has it, unless the ack wait passes
// without InProgress: then it is delivered again, and an Ack of the first
// delivery still removes it. So an Ack says only "all that this message caused
// is stored", never "I alone handled it".
//
// The three methods may block for one exchange with the server. When one fails
// the message comes again: nothing is lost.
type Delivery interface {
	Subject() string
	Header(key string) string
	Body() []byte
	Sequence() uint64  // in its stream
	Count() uint64     // of deliveries, this one included
	Stored() time.Time // when the server took it

	InProgress(ctx context.Context) error
	Ack(ctx context.Context) error
	Later(ctx context.Context, delay time.Duration) error // deliver again after delay; 0 is at once
}

// handled is the key of the delivery in a context.
type handled struct{}

// WithDelivery is the context of all that is done because of d. Two messages of one
// chat ask ports for the same things at the same time: this tells whose a request is.
func WithDelivery(ctx context.Context, d Delivery) context.Context {
	return context.WithValue(ctx, handled{}, d)
}

// DeliveryOf is the delivery because of which something is done in ctx, if it is one.
func DeliveryOf(ctx context.Context) (d Delivery, ok bool) {
	d, ok = ctx.Value(handled{}).(Delivery)
	return d, ok
}

// Stored is one message as it lies in a stream.
type Stored struct {
	Subject  string
	Sequence uint64
	Time     time.Time
	Header   map[string][]string
	Body     []byte
}

// Get is the first value of a header, empty if there is none.
func (s Stored) Get(key string) string {
	if v := s.Header[key]; len(v) > 0 {
		return v[0]
	}
	return ""
}

// Request is a question that waits for an answer.
type Request interface {
	Subject() string
	Header(key string) string
	Body() []byte
	// Respond answers once. That the answer arrives is not promised.
	Respond(body []byte) error
}
