package main

import (
	"bufio"
	"io"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/readside"
)

// mcpCommand is `everturn mcp`.
type mcpCommand struct {
	connect.Flags

	Tenant tenantName `env:"EVERTURN_TENANT" default:"default" help:"Whose chats."`
	By     string     `env:"EVERTURN_BY" help:"Who says so; stands in the log."`
}

// Run implements the command.
func (c *mcpCommand) Run(s *surroundings) error {
	r := remote{Flags: c.Flags, Tenant: c.Tenant, By: c.By}
	return r.connected(s, func(nc *nats.Conn, _ *client.Client) error {
		return readside.RunMCP(s.ctx, nc, readside.MCP{
			Who:       identity.Identity{Tenant: string(c.Tenant), By: c.By},
			Transport: &sdk.IOTransport{Reader: &hostLines{from: bufio.NewReader(s.stdin), log: r.Logger}, Writer: unclosed{s.stdout}},
			Version:   cli.Built().Version, Log: r.Logger,
		})
	})
}

// unclosed is standard output, which is the process's to close.
type unclosed struct{ io.Writer }

// Close implements [io.Closer].
func (unclosed) Close() error { return nil }
