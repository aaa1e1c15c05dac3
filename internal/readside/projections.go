package readside

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"sync"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/projections/audit"
	"github.com/everturn/everturn/projections/index"
	"github.com/everturn/everturn/streams"
)

// Projections say what answers queries.
type Projections struct {
	Domain  string // of JetStream; empty is that of the server
	Version string // of the release
	Log     *slog.Logger

	// Store is the folder for what is kept across chats, of this process only. Empty
	// keeps nothing.
	Store string
}

// ErrNoProjection means that there is no projection of that name.
var ErrNoProjection = errors.New("there is no such projection")

// RunProjections answers queries until ctx ends, lists and search among them if there
// is a store. What is wrong with that goes to the log, and all other queries are
// answered.
func RunProjections(ctx context.Context, nc *nats.Conn, p Projections) error {
	also := []parts.Also{inspect}
	if p.Store != "" {
		also = append(also, p.index)
	}
	return parts.Domain(p.Domain).RunProjections(ctx, nc, p.Version, p.Log, also...)
}

// inspect looks into single chats.
func inspect(_ context.Context, r *streams.Reader) (map[string]projections.Query, func(), error) {
	a, err := audit.New(audit.Config{Log: r.Log, Blobs: r.Blobs, Manifest: r.Manifest, Shards: r.Log.Shards()})
	if err != nil {
		return nil, nil, err
	}
	return a.Queries(), func() {}, nil
}

// index keeps the index of chats.
func (p Projections) index(ctx context.Context, r *streams.Reader) (map[string]projections.Query, func(), error) {
	x, err := index.New(p.indexConfig(r))
	if err != nil {
		return nil, nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	var keeper sync.WaitGroup
	keeper.Go(func() { _ = x.Run(ctx) }) // it ends with ctx, and tells what goes wrong before
	return x.Queries(), func() { cancel(); keeper.Wait() }, nil
}

func (p Projections) indexConfig(r *streams.Reader) index.Config {
	return index.Config{Dir: filepath.Join(p.Store, index.Name), Log: r.Log, Blobs: r.Blobs, Logger: p.Log}
}

// Rebuild builds a projection from the first commit on beside the one in use, which a
// process that keeps it changes over to by itself. Progress is called with how many
// messages have been read, now and then.
func (p Projections) Rebuild(ctx context.Context, nc *nats.Conn, name string, progress func(messages int)) error {
	if name != index.Name {
		return fmt.Errorf("%w: %q; there is %q", ErrNoProjection, name, index.Name)
	}
	r, err := streams.OpenReader(ctx, nc, streams.Options{Domain: p.Domain})
	if err != nil {
		return err
	}
	defer r.Close()
	return index.Build(ctx, p.indexConfig(r), progress)
}
