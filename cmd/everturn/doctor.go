package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/models"
)

// doctorCommand is `everturn doctor`.
type doctorCommand struct {
	remote
	topologyFlags
	models.Source

	Monitor       string `placeholder:"URL" help:"The server's monitoring address, such as http://127.0.0.1:8222: tells how it syncs."`
	SystemAccount string `placeholder:"CONTEXT" help:"Context of a user of the server's system account: tells the same."`
	JSON          bool   `help:"Print each finding as one JSON object."`

	Tools []string `type:"existingfile" sep:"none" placeholder:"FILE" help:"Also check that the programs are there that this file declares as tools."`
}

// verdicts of a check.
const (
	verdictOK   = "ok"
	verdictWarn = "warn"
	verdictFail = "fail"
)

// finding is what one check came to.
type finding struct {
	Check   string `json:"check"`
	Verdict string `json:"verdict"` // ok, warn or fail
	Detail  string `json:"detail"`
	Do      string `json:"do,omitempty"` // what to do about it
}

// doctor runs the checks.
type doctor struct {
	s       *surroundings
	c       *doctorCommand
	nc      *nats.Conn
	js      jetstream.JetStream
	client  *client.Client
	hidden  bool // this user may not ask about streams
	fails   int
	warns   int
	printed error
}

// checkTime bounds one check.
const checkTime = 5 * time.Second

// Run implements the command.
func (c *doctorCommand) Run(s *surroundings) error {
	c.Logger = s.log.Logger(s.stderr)
	d := &doctor{s: s, c: c}
	nc, err := c.Connect("everturn doctor", nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {
		// What the server refuses is told by the check it belongs to.
	}))
	if err != nil {
		d.fail("server", err.Error(), "nothing else can be checked before")
		return errors.Join(err, d.printed)
	}
	defer nc.Close()
	d.nc, d.client = nc, client.New(nc, string(c.Tenant), c.By)
	if d.js, err = c.JetStream(nc); err != nil {
		return fmt.Errorf("jetstream: %w", err)
	}
	for _, check := range []func(context.Context){
		d.server, d.sync, d.jetStream, d.streams, d.storage, d.clock, d.workers, d.commands, d.queries, d.feed, d.models, d.sandbox, d.declared,
	} {
		ctx, cancel := context.WithTimeout(s.ctx, checkTime)
		check(ctx)
		cancel()
		if s.ctx.Err() != nil {
			return s.ctx.Err()
		}
	}
	if d.printed != nil {
		return d.printed
	}
	if d.fails > 0 {
		return cli.Exit(cli.ExitFailure, fmt.Errorf("%d checks failed, %d warn", d.fails, d.warns))
	}
	return nil
}

func (d *doctor) ok(check, format string, args ...any) {
	d.print(finding{Check: check, Verdict: verdictOK, Detail: fmt.Sprintf(format, args...)})
}

func (d *doctor) warn(check, detail, do string) {
	d.warns++
	d.print(finding{Check: check, Verdict: verdictWarn, Detail: detail, Do: do})
}

func (d *doctor) fail(check, detail, do string) {
	d.fails++
	d.print(finding{Check: check, Verdict: verdictFail, Detail: detail, Do: do})
}

func (d *doctor) print(f finding) {
	var err error
	if d.c.JSON {
		err = json.NewEncoder(d.s.stdout).Encode(f)
	} else {
		detail := strings.ReplaceAll(f.Detail, "\n", "\n                  ")
		if _, err = fmt.Fprintf(d.s.stdout, "%-4s  %-10s  %s\n", f.Verdict, f.Check, detail); err == nil && f.Do != "" {
			_, err = fmt.Fprintf(d.s.stdout, "                  → %s\n", f.Do)
		}
	}
	if d.printed == nil {
		d.printed = err
	}
}
