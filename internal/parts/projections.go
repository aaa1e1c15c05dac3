package parts

import (
	"context"
	"fmt"
	"log/slog"
	"runtime/debug"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/streams"
)

// RunProjections is [Domain.RunProjections] in the server's own domain.
func RunProjections(ctx context.Context, nc *nats.Conn, version string, log *slog.Logger) error {
	return Domain("").RunProjections(ctx, nc, version, log)
}

// RunProjections answers queries until ctx ends. Version is that of the release.
// Faults go to the log.
func (d Domain) RunProjections(ctx context.Context, nc *nats.Conn, version string, log *slog.Logger) error {
	options := streams.Options{Domain: string(d)}
	reader, err := streams.OpenReader(ctx, nc, options)
	if err != nil {
		return err
	}
	defer reader.Close()
	p, err := projections.New(projections.Config{Log: reader.Log, Blobs: reader.Blobs})
	if err != nil {
		return err
	}
	queries := make(map[string]streams.Query)
	for name, q := range p.Queries() {
		queries[name] = caught(name, q, log)
	}
	service, err := streams.OpenQueries(nc, options)
	if err != nil {
		return err
	}
	defer service.Close()
	if err := ended(ctx, service.Serve(ctx, version, queries)); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	return nil
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
