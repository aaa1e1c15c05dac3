package parts

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/streams"
)

// RunProjections is [Domain.RunProjections] in the server's own domain.
func RunProjections(ctx context.Context, nc *nats.Conn, version string) error {
	return Domain("").RunProjections(ctx, nc, version)
}

// RunProjections answers queries until ctx ends. Version is that of the release.
func (d Domain) RunProjections(ctx context.Context, nc *nats.Conn, version string) error {
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
		queries[name] = q
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
