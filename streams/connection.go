package streams

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

const (
	requestChan   = 16          // messages a request's lane can hold: an answer, and strays of earlier ones
	unsubscribing = time.Second // bound of waiting until the server knows
)

// connection is what all jobs share: the NATS connection and how a question is
// asked over it. Safe for concurrent use.
type connection struct {
	nc      *nats.Conn
	js      jetstream.JetStream // for what is done seldom
	prefix  string              // of the subjects of the JetStream API
	domain  string
	try     time.Duration // bound of one request
	lanes   lanes         // of requests
	batches lanes
	dropped atomic.Uint64 // requests whose reply subject was no inbox
	soleAt  atomic.Uint64 // the connection whose server was found to be the only one, by its number
	looks   atomic.Bool   // whether it is one is looked for after each reconnect

	mu          sync.Mutex
	reconnected chan struct{} // closed at the next reconnect
	watched     chan nats.Status
	watcher     sync.WaitGroup
}

func newConnection(nc *nats.Conn, o Options) (*connection, error) {
	js, err := o.jetStream(nc)
	if err != nil {
		return nil, fmt.Errorf("jetstream: %w", err)
	}
	c := &connection{
		nc: nc, js: js, prefix: o.apiPrefix(), domain: o.Domain, try: o.try(),
		lanes:       lanes{nc: nc, size: requestChan},
		batches:     lanes{nc: nc, size: batchChan},
		reconnected: make(chan struct{}),
		watched:     nc.StatusChanged(nats.CONNECTED),
	}
	c.watcher.Go(c.watch)
	return c, nil
}

// watch tells whoever waits that the connection was lost in between: what the
// server held for it, such as pull requests, may be gone.
func (c *connection) watch() {
	for range c.watched {
		c.mu.Lock()
		close(c.reconnected)
		c.reconnected = make(chan struct{})
		c.mu.Unlock()
		if c.looks.Load() {
			c.watcher.Go(func() {
				ctx, cancel := context.WithTimeout(context.Background(), c.try)
				defer cancel()
				c.findSole(ctx)
			})
		}
	}
}

// reconnect is closed when the connection has been lost and is there again.
func (c *connection) reconnect() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.reconnected
}

func (c *connection) close() {
	c.nc.RemoveStatusListener(c.watched)
	c.watcher.Wait()
	c.lanes.close()
	c.batches.close()
}

// request asks once and gives the answer. It waits no longer than one try, and
// not beyond a reconnect: the question, or its answer, went with the connection.
func (c *connection) request(ctx context.Context, m *nats.Msg) (*nats.Msg, error) {
	late := time.NewTimer(c.try) // a context of its own would cost five times as much
	defer late.Stop()
	reconnected := c.reconnect()
	l, err := c.lanes.take()
	if err != nil {
		return nil, err
	}
	m.Reply = l.next()
	if err := c.nc.PublishMsg(m); err != nil {
		c.lanes.discard(l)
		return nil, err
	}
	for {
		select {
		case answer := <-l.messages:
			if answer.Subject != m.Reply {
				continue // to an earlier question that had given up
			}
			c.lanes.put(l)
			if len(answer.Data) == 0 && answer.Header.Get(statusHeader) == statusNobody {
				return nil, errNobody
			}
			return answer, nil
		case <-late.C:
			c.lanes.discard(l)
			return nil, errNoAnswer
		case <-reconnected:
			c.lanes.discard(l)
			return nil, errReconnected
		case <-ctx.Done():
			c.lanes.discard(l)
			return nil, context.Cause(ctx)
		}
	}
}

// subscribe calls on for each message, one after the other, as a member of the
// queue group if there is one. The function it gives ends that, and returns
// when on runs no more.
func (c *connection) subscribe(subject, group string, on func(*nats.Msg)) (func(), error) {
	sub, err := c.nc.QueueSubscribe(subject, group, on)
	if err != nil {
		return nil, fmt.Errorf("subscribe to %s: %w", subject, err)
	}
	ended := make(chan struct{})
	sub.SetClosedHandler(func(string) { close(ended) })
	return func() {
		_ = sub.Unsubscribe() // fails only if the connection is closed: then it has ended too
		<-ended
	}, nil
}

// listen is subscribe until ctx ends.
func (c *connection) listen(ctx context.Context, subject string, on func(*nats.Msg)) error {
	stop, err := c.subscribe(subject, "", on)
	if err != nil {
		return err
	}
	defer stop()
	<-ctx.Done()
	return ctx.Err()
}

// publish stores a message and gives its sequence. Errors that the server
// answers are [*jetstream.APIError]; after any other the message may be stored
// or not.
func (c *connection) publish(ctx context.Context, m *nats.Msg) (uint64, error) {
	answer, err := c.request(ctx, m)
	if err != nil {
		return 0, err
	}
	var ack struct {
		apiAnswer
		Stream   string `json:"stream"`
		Sequence uint64 `json:"seq"`
	}
	if err := jsonv2.Unmarshal(answer.Data, &ack); err != nil {
		return 0, fmt.Errorf("answer of the server: %w", err)
	}
	if err := ack.failure(); err != nil {
		return 0, err
	}
	if ack.Stream == "" {
		return 0, fmt.Errorf("somebody who is no stream answers on %s", m.Subject)
	}
	return ack.Sequence, nil
}

// api asks the server's JetStream API and decodes the answer. Errors that the
// server answers are [*jetstream.APIError].
func (c *connection) api(ctx context.Context, subject string, question any, answer interface{ failure() error }) error {
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	m, err := c.request(ctx, &nats.Msg{Subject: c.prefix + subject, Data: body})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(m.Data, answer); err != nil {
		return fmt.Errorf("answer of the server: %w", err)
	}
	return answer.failure()
}

// apiAnswer is in every answer of the API.
type apiAnswer struct {
	Error *jetstream.APIError `json:"error"`
}

func (a *apiAnswer) failure() error {
	if a.Error == nil {
		return nil // not a nil pointer in an interface
	}
	return a.Error
}
