package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"strconv"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/gateway"
	"github.com/everturn/everturn/gateway/identity"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/embedded"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/internal/systemd"
)

// gatewayCommand is `everturn gateway`.
type gatewayCommand struct {
	cli.MetricsFlags
	connect.Flags
	gateway.Quotas

	Listen string `env:"EVERTURN_LISTEN" default:"127.0.0.1:8080" placeholder:"HOST:PORT" help:"Address to answer HTTP on; port 0 takes a free one. Default: 127.0.0.1:8080."`
	JSON   bool   `help:"Print the address as one JSON object."`
}

// Run implements the command.
func (c *gatewayCommand) Run(s *surroundings) (err error) {
	c.Logger = s.log.Logger(s.stderr)
	listener, err := (&net.ListenConfig{}).Listen(s.ctx, "tcp", c.Listen)
	if err != nil {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("--listen: %w", err))
	}
	defer listener.Close() // for where no gateway has come to take it
	meter, stopMeter, err := c.Meter(s.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMeter()) }()
	nc, err := c.Connect("gateway")
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := s.webAddress(listener, c.JSON); err != nil {
		return err
	}
	if err := systemd.Ready(s.ctx); err != nil {
		return err
	}
	return readside.RunGateway(s.ctx, nc, readside.GatewayConfig{
		Config: gateway.Config{Listener: listener, Log: c.Logger, Meter: meter}, Quotas: c.Quotas, Domain: c.JSDomain,
		Version: cli.Built().Version,
	})
}

// webAddress says where browsers and programs reach a gateway.
func (s *surroundings) webAddress(l net.Listener, asJSON bool) error {
	url := webURL(l)
	if asJSON {
		return json.NewEncoder(s.stdout).Encode(map[string]string{"http_url": url})
	}
	_, err := fmt.Fprintln(s.stdout, "listening on", url)
	return err
}

// webURL is where a listener is reached from this machine; empty for none.
func webURL(l net.Listener) string {
	if l == nil {
		return ""
	}
	address, ok := l.Addr().(*net.TCPAddr)
	if !ok {
		return l.Addr().String()
	}
	host := address.IP.String()
	if address.IP.IsUnspecified() {
		host = "localhost"
	}
	return "http://" + net.JoinHostPort(host, strconv.Itoa(address.Port))
}

// gatewayFlags are those of a process that holds a gateway beside other parts.
type gatewayFlags struct {
	HTTP *string `name:"http" env:"EVERTURN_HTTP" placeholder:"HOST:PORT" help:"Address for browsers and HTTP clients; empty: none. Requests from this machine need no token there. Default: 127.0.0.1:8080, or a port near it that is free."`
}

// Where a gateway listens that nobody gave an address.
const (
	defaultWebPort = 8080
	webPortsTried  = 20
)

// listen takes the address that was asked for, or the first that is free. Nil: no
// gateway is wanted.
func (f gatewayFlags) listen(ctx context.Context) (net.Listener, error) {
	if f.HTTP != nil {
		if *f.HTTP == "" {
			return nil, nil
		}
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", *f.HTTP)
		if err != nil {
			return nil, cli.Exit(cli.ExitUsage, fmt.Errorf("--http: %w", err))
		}
		return l, nil
	}
	for port := defaultWebPort; port < defaultWebPort+webPortsTried; port++ {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if !errors.Is(err, syscall.EADDRINUSE) {
			return l, err
		}
	}
	return (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
}

// gateway runs a gateway beside the other parts. Requests of this machine are those
// of the default tenant.
func (e *everything) gateway(ctx context.Context, server *embedded.Server, cfg gateway.Config) {
	cfg.Local = identity.Identity{Tenant: client.DefaultTenant, By: os.Getenv("USER")}
	e.runAmong(ctx, &e.doors, server, "gateway", func(nc *nats.Conn) error {
		return readside.RunGateway(ctx, nc, readside.GatewayConfig{Config: cfg, Version: cli.Built().Version})
	})
}
