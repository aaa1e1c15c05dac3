package streams

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/workers"
	"github.com/everturn/everturn/protocol"
)

const (
	// serveGroup is the queue group of those who answer requests.
	serveGroup = "orchestrators"

	// maxServed is how many requests of one process are handled at a time; more
	// wait in the connection's buffers.
	maxServed = 1024
)

// Requests are the questions of tool runners, spread over all orchestrators. It
// implements the requests port of orchestrators.
type Requests struct{ c *connection }

// Serve calls the handlers until ctx ends, then waits for those that run. A
// handler that is nil is not asked. Requests whose reply subject is no inbox
// are dropped and counted: the answer would be written wherever the asker says,
// with our permissions.
func (r *Requests) Serve(ctx context.Context, h protocol.Handlers) error {
	s := server{c: r.c, free: make(chan struct{}, maxServed)}
	every := anyChat()
	for _, e := range []struct {
		subject string
		handle  func(ctx context.Context, k events.Key, r protocol.Request)
	}{
		{protocol.ClaimSubject(every), h.Claim},
		{protocol.ResultSubject(every), h.Result},
		{protocol.AskSubject(every), h.Ask},
		{protocol.UploadSubject(every), h.Upload},
		{protocol.DownloadSubject(every), h.Download},
	} {
		if e.handle == nil {
			continue
		}
		s.subscribe(e.subject, func(m *nats.Msg) {
			if k, err := protocol.ParseChatSubject(m.Subject); err == nil {
				e.handle(ctx, k, &Request{nc: r.c.nc, message: m})
			}
		})
	}
	if h.Offer != nil {
		s.subscribe(protocol.OfferSubject(protocol.Any), func(m *nats.Msg) {
			h.Offer(ctx, m.Subject[strings.LastIndexByte(m.Subject, '.')+1:], &Request{nc: r.c.nc, message: m})
		})
	}
	return s.wait(ctx)
}

// Request is a question that came by the bus. It implements [protocol.Request].
type Request struct {
	nc      *nats.Conn
	message *nats.Msg
}

// Subject is where the request was sent.
func (r *Request) Subject() string { return r.message.Subject }

// Header is the first value of a header, empty if there is none. The group is
// not what the sender says but what the server knows.
func (r *Request) Header(key string) string {
	if key == protocol.HeaderGroup {
		group, _ := protocol.RequestGroup(r.message.Header[protocol.HeaderRequestInfo])
		return group
	}
	return r.message.Header.Get(key)
}

// Body is the request's content. It must not be changed.
func (r *Request) Body() []byte { return r.message.Data }

// Respond answers once. That the answer arrives is not promised.
func (r *Request) Respond(body []byte) error {
	if err := r.nc.Publish(r.message.Reply, body); err != nil {
		return fmt.Errorf("answer to %s: %w", r.message.Subject, err)
	}
	return nil
}

// isInbox reports whether a reply subject is one that only an asker listens to:
// an inbox, or what the server makes of one between accounts. Everything else
// could be a subject that a stream stores.
func isInbox(reply string) bool {
	return strings.HasPrefix(reply, "_INBOX") || strings.HasPrefix(reply, "_R_")
}

// server runs handlers for subscriptions, those of several messages side by side.
type server struct {
	c    *connection
	free chan struct{} // has room for the handlers that may run at a time
	stop []func()
	err  error

	running workers.Group
}

// subscribe answers requests to a subject. An error is kept for wait.
func (s *server) subscribe(subject string, handle func(*nats.Msg)) {
	if s.err != nil {
		return
	}
	stop, err := s.c.subscribe(subject, serveGroup, func(m *nats.Msg) {
		if !isInbox(m.Reply) {
			s.c.dropped.Add(1)
			return
		}
		s.free <- struct{}{}
		s.running.Go(func() {
			defer func() { <-s.free }()
			handle(m)
		})
	})
	if err != nil {
		s.err = fmt.Errorf("serve %s: %w", subject, err)
		return
	}
	s.stop = append(s.stop, stop)
}

// wait serves until ctx ends and returns when the last handler has.
func (s *server) wait(ctx context.Context) error {
	if s.err == nil {
		<-ctx.Done()
		s.err = ctx.Err()
	}
	for _, stop := range s.stop {
		stop()
	}
	s.running.Wait()
	return s.err
}
