package streams

import (
	"context"
	"fmt"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	followHeartbeat = 2 * time.Second
	followSilence   = 3 * followHeartbeat // after which a follower gives up
	followForget    = time.Minute         // after which the server forgets one that is gone
	followChan      = 64 << 10            // messages that may wait for the follower
)

// Headers of the server's heartbeats.
const (
	heartbeatConsumer = "Nats-Last-Consumer" // number of deliveries so far
	heartbeatStalled  = "Nats-Consumer-Stalled"
)

// follower reads streams in order, first what is there and then what comes,
// with one short-lived consumer for each. It does not mend itself: where a
// message may be missing it ends with an error, and whoever follows begins anew
// and knows it.
type follower struct {
	c       *connection
	sources []source
	policy  jetstream.DeliverPolicy
	headers bool // headers only

	on    func(m *nats.Msg, meta *nats.MsgMetadata) error // its error ends the follower
	ready func() error                                    // called once, when what was there has been given
}

// source is a stream, and what of it is wanted.
type source struct {
	stream, filter string
	from           uint64 // with the policy by start sequence
}

// followed is a source on its way.
type followed struct {
	stream    string
	consumer  string
	inbox     string
	sub       *nats.Subscription
	waiting   uint64 // messages that were there at the start and have not come
	delivered uint64
	heard     time.Time
}

// run follows until ctx ends, on or ready fails, or a message may be missing.
func (f *follower) run(ctx context.Context) error {
	reconnected := f.c.reconnect()
	messages := make(chan *nats.Msg, followChan)
	var all []*followed
	defer func() {
		for _, s := range all {
			f.end(s)
		}
	}()
	for _, source := range f.sources {
		s, err := f.begin(ctx, source, messages)
		if s != nil {
			all = append(all, s)
		}
		if err != nil {
			return translate(err, "follow %s", source.stream)
		}
	}
	open := 0
	for _, s := range all {
		if s.waiting > 0 {
			open++
		}
	}
	if open == 0 {
		if err := f.ready(); err != nil {
			return err
		}
	}
	look := time.NewTicker(followHeartbeat)
	defer look.Stop()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-reconnected:
			return fmt.Errorf("follow: connection was lost: %w", errMissed)
		case <-look.C:
			for _, s := range all {
				if len(messages) == 0 && time.Since(s.heard) > followSilence {
					return fmt.Errorf("follow %s: nothing heard for %v: %w", s.stream, followSilence, errMissed)
				}
			}
		case m := <-messages:
			caughtUp, err := f.take(all, m)
			if err != nil {
				return err
			}
			if caughtUp {
				if open--; open == 0 {
					if err := f.ready(); err != nil {
						return err
					}
				}
			}
		}
	}
}

// begin subscribes and makes the consumer.
func (f *follower) begin(ctx context.Context, from source, messages chan *nats.Msg) (*followed, error) {
	s := &followed{stream: from.stream, inbox: f.c.nc.NewInbox(), heard: time.Now()}
	var err error
	if s.sub, err = f.c.nc.ChanSubscribe(s.inbox, messages); err != nil {
		return nil, err
	}
	var answer struct {
		apiAnswer
		Name    string `json:"name"`
		Pending uint64 `json:"num_pending"`
	}
	err = f.c.api(ctx, "CONSUMER.CREATE."+from.stream, struct {
		Stream string                   `json:"stream_name"`
		Config jetstream.ConsumerConfig `json:"config"`
	}{from.stream, jetstream.ConsumerConfig{
		DeliverSubject:    s.inbox,
		DeliverPolicy:     f.policy,
		OptStartSeq:       from.from,
		AckPolicy:         jetstream.AckNonePolicy,
		MaxDeliver:        1,
		FilterSubject:     from.filter,
		HeadersOnly:       f.headers,
		FlowControl:       true,
		IdleHeartbeat:     followHeartbeat,
		InactiveThreshold: followForget,
		MemoryStorage:     true,
		Replicas:          1,
	}}, &answer)
	s.consumer, s.waiting = answer.Name, answer.Pending
	return s, err
}

// end takes the subscription and the consumer away.
func (f *follower) end(s *followed) {
	_ = s.sub.Unsubscribe()
	if s.consumer != "" {
		// The server forgets it anyway; this is only sooner.
		_ = f.c.nc.Publish(f.c.prefix+"CONSUMER.DELETE."+s.stream+"."+s.consumer, nil)
	}
}

// take handles one message. It reports whether its stream has now given all
// that was there at the start.
func (f *follower) take(all []*followed, m *nats.Msg) (caughtUp bool, err error) {
	var s *followed
	for _, s = range all {
		if s.sub == m.Sub {
			break
		}
	}
	s.heard = time.Now()
	if m.Subject == s.inbox {
		return false, f.heartbeat(s, m)
	}
	meta, err := m.Metadata()
	if err != nil {
		return false, fmt.Errorf("follow %s: %w", s.stream, err)
	}
	if meta.Sequence.Consumer != s.delivered+1 {
		return false, fmt.Errorf("follow %s: delivery %d came after %d: %w", s.stream, meta.Sequence.Consumer, s.delivered, errMissed)
	}
	s.delivered++
	if err := f.on(m, meta); err != nil {
		return false, err
	}
	if s.waiting == 0 {
		return false, nil
	}
	// Messages that were deleted meanwhile do not come, so the count alone could
	// wait for ever.
	s.waiting--
	if meta.NumPending == 0 {
		s.waiting = 0
	}
	return s.waiting == 0, nil
}

// heartbeat answers what the server asks in between, and compares its count.
func (f *follower) heartbeat(s *followed, m *nats.Msg) error {
	switch m.Header.Get(statusHeader) {
	case statusHeartbeat:
	case statusNobody, statusTimeout, statusNone, statusConflict:
		return fmt.Errorf("follow %s: the consumer is gone: %w", s.stream, errMissed)
	}
	for _, reply := range []string{m.Reply, m.Header.Get(heartbeatStalled)} { // flow control: go on
		if reply != "" {
			if err := f.c.nc.Publish(reply, nil); err != nil {
				return fmt.Errorf("follow %s: %w", s.stream, err)
			}
		}
	}
	if last := m.Header.Get(heartbeatConsumer); last != "" && last != fmt.Sprint(s.delivered) {
		return fmt.Errorf("follow %s: %s were delivered and %d came: %w", s.stream, last, s.delivered, errMissed)
	}
	return nil
}
