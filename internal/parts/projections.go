package parts

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/streams"
)

// streamsWait is how long projections wait before they look again for streams
// that are not there.
const streamsWait = 500 * time.Millisecond

// RunProjections is [Domain.RunProjections] in the server's own domain.
func RunProjections(ctx context.Context, nc *nats.Conn, version string, log *slog.Logger) error {
	return Domain("").RunProjections(ctx, nc, version, log)
}

// Also is what another projection answers, read from the same logs. Stop ends it, and
// is called when no query is asked any more.
type Also func(ctx context.Context, r *streams.Reader) (queries map[string]projections.Query, stop func(), err error)

// RunProjections answers queries until ctx ends. Version is that of the release.
// Faults go to the log. It waits for streams that are not there yet. What nobody keeps
// is answered with what to do. A query of the others takes the place of one of that name.
func (d Domain) RunProjections(ctx context.Context, nc *nats.Conn, version string, log *slog.Logger, also ...Also) error {
	options := streams.Options{Domain: string(d)}
	reader, err := awaitReader(ctx, nc, options, log)
	if err != nil {
		return ended(ctx, err)
	}
	defer reader.Close()
	p, err := projections.New(projections.Config{Log: reader.Log, Blobs: reader.Blobs})
	if err != nil {
		return err
	}
	service, err := streams.OpenQueries(nc, options)
	if err != nil {
		return err
	}
	defer service.Close()
	queries := service.Contents()
	all := []map[string]projections.Query{p.Queries(), projections.Unkept()}
	var stops []func()
	defer func() {
		for _, stop := range slices.Backward(stops) {
			stop()
		}
	}()
	for _, begin := range also {
		answered, stop, err := begin(ctx, reader)
		if err != nil {
			return err
		}
		stops, all = append(stops, stop), append(all, answered)
	}
	for _, answered := range all {
		for name, q := range answered {
			queries[name] = caught(name, q, log)
		}
	}
	if err := ended(ctx, service.Serve(ctx, version, queries)); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	return nil
}

// awaitReader opens the logs, as soon as somebody has set the streams up: parts
// may be started in any order.
func awaitReader(ctx context.Context, nc *nats.Conn, options streams.Options, log *slog.Logger) (*streams.Reader, error) {
	for told := false; ; told = true {
		reader, err := streams.OpenReader(ctx, nc, options)
		if !errors.Is(err, streams.ErrNoStreams) {
			return reader, err
		}
		if !told {
			log.WarnContext(ctx, "waiting for the streams", "error", err)
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-time.After(streamsWait):
		}
	}
}

// caught turns a panic into an error: one question that nobody thought of must
// not end the process that answers all others.
func caught(name string, query streams.Query, log *slog.Logger) streams.Query {
	return func(ctx context.Context, tenant string, question []byte) (answer []byte, err error) {
		defer func() {
			if p := recover(); p != nil {
				log.ErrorContext(ctx, "a query panicked", "query", name, "panic", p, "stack", string(debug.Stack()))
				err = fmt.Errorf("query %s: panic: %v", name, p)
			}
		}()
		return query(ctx, tenant, question)
	}
}
