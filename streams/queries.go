package streams

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/workers"
	"github.com/everturn/everturn/protocol"
)

const (
	queryService = "everturn"
	queryGroup   = "projections" // queue group of those who answer

	// maxQueries is how many queries of one process are handled at a time.
	maxQueries = 256
)

// Query answers one kind of question about the chats of a tenant. A no is a
// [*protocol.RefusedError]; any other error is answered as "not now".
type Query func(ctx context.Context, tenant string, body []byte) ([]byte, error)

// Queries serves projections as a micro service, spread over all processes that
// do. Several may share a connection.
type Queries struct{ c *connection }

// OpenQueries serves over a connection, which stays the caller's to close, after
// [Queries.Close].
func OpenQueries(nc *nats.Conn, o Options) (*Queries, error) {
	c, err := newConnection(nc, o)
	if err != nil {
		return nil, err
	}
	return &Queries{c: c}, nil
}

// Close ends what Open began. Serve must have returned.
func (q *Queries) Close() { q.c.close() }

// Dropped is how many queries were not answered because their reply subject was
// no inbox.
func (q *Queries) Dropped() uint64 { return q.c.dropped.Load() }

// Serve answers queries by name until ctx ends, then waits for those that run.
// Version is that of the release, as `nats micro` shows it.
func (q *Queries) Serve(ctx context.Context, version string, queries map[string]Query) error {
	service, err := micro.AddService(q.c.nc, micro.Config{
		Name: queryService, Version: version, QueueGroup: queryGroup,
		Description: "Answers questions about chats from projections of the log.",
	})
	if err != nil {
		return fmt.Errorf("serve queries: %w", err)
	}
	var running workers.Group
	free, stopped := make(chan struct{}, maxQueries), make(chan struct{})
	stop := func() error {
		err := service.Stop()
		close(stopped)
		for range maxQueries { // to keep: the library may hand over what was on its way, which must begin nothing
			free <- struct{}{}
		}
		running.Wait()
		return err
	}
	for name, query := range queries {
		err := service.AddEndpoint(name, micro.HandlerFunc(func(r micro.Request) {
			if !isInbox(r.Reply()) {
				q.c.dropped.Add(1)
				return
			}
			select {
			case free <- struct{}{}:
			case <-stopped:
				_ = q.c.nc.PublishMsg(queryAnswer(r, nil, context.Canceled))
				return
			}
			running.Go(func() {
				defer func() { <-free }()
				// Past the library: what its own respond notes on the request, it
				// reads as soon as this handler is back, which is before.
				_ = q.c.nc.PublishMsg(answerQuery(ctx, query, r))
			})
		}), micro.WithEndpointSubject(protocol.QuerySubject(protocol.Any, name)))
		if err != nil {
			return fmt.Errorf("serve query %s: %w", name, errors.Join(err, stop()))
		}
	}
	<-ctx.Done()
	return errors.Join(ctx.Err(), stop())
}

// answerQuery has a query answered.
func answerQuery(ctx context.Context, query Query, r micro.Request) *nats.Msg {
	tenant, err := queryTenant(r.Subject())
	var body []byte
	if err == nil {
		body, err = query(ctx, tenant, r.Data())
	}
	return queryAnswer(r, body, err)
}

// queryAnswer is the one answer to a query. Whoever sends it need not see that it
// arrives: that is not promised.
func queryAnswer(r micro.Request, body []byte, err error) *nats.Msg {
	if err == nil {
		return &nats.Msg{Subject: r.Reply(), Data: body}
	}
	no := &protocol.RefusedError{Code: events.CodeUnavailable, Detail: "ask again"}
	errors.As(err, &no)
	data, err := json.Marshal(protocol.Reply{Code: no.Code, Message: no.Detail})
	if err != nil {
		data = nil // the headers say it too
	}
	return &nats.Msg{Subject: r.Reply(), Data: data, Header: nats.Header{
		micro.ErrorHeader:     []string{no.Error()},
		micro.ErrorCodeHeader: []string{strconv.Itoa(no.Code.Info().HTTP)},
	}}
}

// queryTenant is the tenant in a query's subject.
func queryTenant(subject string) (string, error) {
	tokens := strings.Split(subject, ".")
	if len(tokens) != 4 {
		return "", &protocol.RefusedError{Code: events.CodeBadCommand, Detail: "no query has this subject"}
	}
	return tokens[2], nil
}
