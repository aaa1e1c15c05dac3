package readside

import (
	"context"
	"fmt"
	"log/slog"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/gateway/mcp"
)

// mcpWays are the ways in for who speaks MCP over HTTP. There are no sessions, so
// nothing is listened to, and none is ended: the handler says so.
func mcpWays(chats mcp.Chats, nc *nats.Conn, version string, log *slog.Logger) ([]gateway.Way, error) {
	door, err := mcp.New(mcp.Config{Chats: chats, Feed: watchers{nc}, Version: version, Log: log})
	if err != nil {
		return nil, err
	}
	h := door.Handler()
	return []gateway.Way{
		{Pattern: "POST " + mcp.Pattern, Handler: h, Watches: true},
		{Pattern: "GET " + mcp.Pattern, Handler: h},
		{Pattern: "DELETE " + mcp.Pattern, Handler: h},
	}, nil
}

// MCP is on whose behalf somebody is answered who speaks MCP, and over what.
type MCP struct {
	Who       identity.Identity
	Transport sdk.Transport
	Version   string       // of us
	Log       *slog.Logger // nil says nothing
}

// RunMCP answers until ctx or the transport ends. It needs no more than a client of
// the tenant may do on the bus.
func RunMCP(ctx context.Context, nc *nats.Conn, m MCP) error {
	door, err := mcp.New(mcp.Config{Chats: chats{nc}, Feed: watchers{nc}, Version: m.Version, Log: m.Log})
	if err != nil {
		return err
	}
	if err := door.Serve(ctx, m.Who, m.Transport); err != nil && ctx.Err() == nil {
		return fmt.Errorf("mcp: %w", err)
	}
	return nil
}

// watchers watch one chat each, by the Go client: all that a client of a tenant may
// listen to.
type watchers struct{ nc *nats.Conn }

// Watch implements [mcp.Feed].
func (w watchers) Watch(ctx context.Context, k events.Key) (mcp.Sights, error) {
	one, err := client.New(w.nc, k.Tenant, "").OpenWatcher(ctx, k.Chat)
	if err != nil {
		return nil, answered(err)
	}
	return seen{one}, nil
}

// seen is what the Go client sees, in the words of that door.
type seen struct{ *client.Watcher }

// Next implements [mcp.Sights].
func (s seen) Next(ctx context.Context) (mcp.Sight, error) {
	for {
		sight, err := s.Watcher.Next(ctx)
		if err != nil || sight.Progress == nil {
			return mcp.Sight{Commit: sight.Commit, Delta: sight.Delta}, answered(err)
		}
	}
}
