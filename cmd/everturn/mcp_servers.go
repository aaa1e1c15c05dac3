package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner/mcp"
)

// Times of the one turn that `everturn run` waits with for MCP servers.
const (
	serversWait  = 20 * time.Second
	serversAgain = 50 * time.Millisecond
)

// awaitServers waits for a while until all tools of MCP servers are on offer: there is
// but one turn, which is to have them.
func awaitServers(s *surroundings, nc *nats.Conn, servers *mcp.Servers) error {
	ctx, cancel := context.WithTimeout(s.ctx, serversWait)
	defer cancel()
	for {
		tools, missing := servers.Named()
		if len(missing) == 0 {
			var err error
			if missing, err = notOffered(ctx, nc, tools); err != nil && ctx.Err() == nil {
				return err
			}
		}
		if len(missing) == 0 && ctx.Err() == nil {
			return nil
		}
		select {
		case <-time.After(serversAgain):
		case <-ctx.Done():
			if s.ctx.Err() != nil {
				return s.ctx.Err()
			}
			fmt.Fprintf(s.stderr, "everturn: the turn begins without some tools of MCP servers, since these are not there yet: %s\n", strings.Join(missing, ", "))
			return nil
		}
	}
}

// notOffered are those of the tools that are not on the list.
func notOffered(ctx context.Context, nc *nats.Conn, tools []string) (missing []string, err error) {
	if len(tools) == 0 {
		return nil, nil
	}
	err = withTools(ctx, nc, streams.Options{}, func(_ context.Context, _ *streams.Tools, all []protocol.ToolEntry) error {
		missing = slices.DeleteFunc(slices.Clone(tools), func(name string) bool {
			return slices.ContainsFunc(all, func(e protocol.ToolEntry) bool { return e.Manifest.Name == name })
		})
		return nil
	})
	return missing, err
}
