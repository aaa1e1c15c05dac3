package parts

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/streams"
)

// RunProjections answers queries until ctx ends. Version is that of the release.
func RunProjections(ctx context.Context, nc *nats.Conn, version string) error {
	reader, err := streams.OpenReader(ctx, nc, streams.Options{})
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
	service, err := streams.OpenQueries(nc, streams.Options{})
	if err != nil {
		return err
	}
	defer service.Close()
	if err := ended(ctx, service.Serve(ctx, version, queries)); err != nil {
		return fmt.Errorf("projections: %w", err)
	}
	return nil
}
