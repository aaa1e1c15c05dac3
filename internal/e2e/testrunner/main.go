// Command testrunner is a tool runner whose tools have effects outside, which
// tests count: they pay at a service, or work for a long time. It belongs to no
// release.
package main

import (
	"context"
	"io"
	"net/http"

	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/parts"
	"github.com/everturn/everturn/toolrunner"
	"github.com/everturn/everturn/toolrunner/declared"
	"github.com/everturn/everturn/toolrunner/sandbox"
)

const (
	name        = "testrunner"
	description = "Runs tools that tests watch, as toolrunner runs its own."
)

func main() {
	launcher := sandbox.Enter()
	cli.Main(name, cli.RunnerHeadroom, func(ctx context.Context, args []string, stdout, stderr io.Writer) error {
		return run(ctx, launcher, args, stdout, stderr)
	})
}

// grammar is every flag of the command.
type grammar struct {
	cli.Service
	toolrunner.Config
	declared.Files

	Workspace string `type:"existingdir" default:"." help:"Folder of the declared tools."`

	Payments string `required:"" placeholder:"URL" help:"Service that knows idempotency keys."`
	Keyless  string `required:"" placeholder:"URL" help:"Service that pays whatever it is sent."`
}

// run is the command but for the end of the process.
func run(ctx context.Context, launcher sandbox.Launcher, args []string, stdout, stderr io.Writer) error {
	var g grammar
	if _, err := cli.Parse(&g, name, description, args, stdout, stderr); err != nil {
		return err
	}
	offered := []toolrunner.Tool{
		pay("pay", g.Payments, true), pay("pay_once", g.Keyless, false),
		work("work", g.Keyless, true), work("work_once", g.Keyless, false),
	}
	programs, err := g.Files.Open(ctx, launcher, offered, declared.Options{Workspace: g.Workspace})
	if err != nil {
		return err
	}
	offered = append(offered, programs...)
	return g.Serve(ctx, name, stderr, func(r cli.Running) error {
		g.Config.Log, g.Config.Meter, g.Config.Tracer = r.Log, r.Meter, r.Tracer
		return parts.Domain(g.JSDomain).RunTools(ctx, r.NATS, g.Config, offered)
	})
}

// client is for one call: no connection is left for the next one to break.
func client() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
}
