package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/gateway/webhook"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/connect"
	"github.com/everturn/everturn/internal/readside"
	"github.com/everturn/everturn/internal/systemd"
	"github.com/everturn/everturn/protocol/cloudevents"
	"github.com/everturn/everturn/protocol/transcript"
	"github.com/everturn/everturn/streams"
)

// webhooksCommand is `everturn webhooks`.
type webhooksCommand struct {
	Run     webhooksRun     `cmd:"" help:"Send what happens in chats to the receivers of a file until stopped."`
	List    webhooksList    `cmd:"" help:"Show the receivers of a file, and how much waits for each."`
	Test    webhooksTest    `cmd:"" help:"Send one event that says nothing, to see whether a receiver takes it."`
	Redrive webhooksRedrive `cmd:"" help:"Send the events again that were set aside, each once."`
	Forget  webhooksForget  `cmd:"" help:"Delete how far a receiver is: under its name everything begins anew."`
}

// webhookFile is where receivers are written down.
type webhookFile struct {
	File string `required:"" type:"existingfile" env:"EVERTURN_WEBHOOKS" placeholder:"FILE" help:"A webhooks.yaml; see docs/WEBHOOKS.md."`
}

// load reads the file.
func (f webhookFile) load() (webhook.File, error) { return loadWebhooks(f.File) }

func loadWebhooks(path string) (webhook.File, error) {
	loaded, err := webhook.Load(path, os.Getenv)
	if err != nil {
		return loaded, cli.Exit(cli.ExitUsage, err)
	}
	return loaded, nil
}

// hook is the receiver of that name.
func hookOf(f webhook.File, name string) (webhook.Hook, error) {
	at := slices.IndexFunc(f.Hooks, func(h webhook.Hook) bool { return h.Name == name })
	if at < 0 {
		return webhook.Hook{}, cli.Exit(cli.ExitNotFound, fmt.Errorf("the file has no webhook %.80q", name))
	}
	return f.Hooks[at], nil
}

// newSender is what sends events.
func newSender() *webhook.Sender { return webhook.NewSender(cli.Built().Version, time.Now) }

type webhooksRun struct {
	cli.MetricsFlags
	connect.Flags
	webhookFile
}

// Run implements the command.
func (c *webhooksRun) Run(s *surroundings) (err error) {
	f, err := c.load()
	if err != nil {
		return err
	}
	log := s.log.Logger(s.stderr)
	c.Logger = log
	meter, stopMeter, err := c.Meter(s.ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, stopMeter()) }()
	nc, err := c.Connect("webhooks")
	if err != nil {
		return err
	}
	defer nc.Close()
	if err := systemd.Ready(s.ctx); err != nil {
		return err
	}
	return readside.RunWebhooks(s.ctx, nc, streams.Options{Domain: c.JSDomain}, webhook.Config{
		File: f, Sender: newSender(), Log: log, Meter: meter,
	})
}

type webhooksList struct {
	remote
	webhookFile

	JSON bool `help:"Print each receiver as one JSON object."`
}

// Run implements the command. Addresses may be as good as passwords, so only their
// hosts are shown.
func (c *webhooksList) Run(s *surroundings) error {
	f, err := c.load()
	if err != nil {
		return err
	}
	return c.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		if !c.JSON {
			fmt.Fprintln(table, "NAME\tHOST\tWAITING")
		}
		for _, h := range f.Hooks {
			b, err := streams.OutboxBacklog(ctx, nc, streams.Options{Domain: c.JSDomain}, h.Name)
			if err != nil {
				return err
			}
			if c.JSON {
				if err := json.NewEncoder(s.stdout).Encode(struct {
					Name    string `json:"name"`
					Host    string `json:"host"`
					Begun   bool   `json:"begun"`
					Waiting uint64 `json:"waiting"`
				}{h.Name, h.Host(), b.Shards > 0, b.Commits}); err != nil {
					return err
				}
				continue
			}
			waiting := fmt.Sprintf("%d commits", b.Commits)
			if b.Shards == 0 {
				waiting = "not begun: `everturn webhooks run` was never started with it"
			}
			fmt.Fprintf(table, "%s\t%s\t%s\n", h.Name, h.Host(), waiting)
		}
		return table.Flush()
	})
}

type webhooksTest struct {
	webhookFile

	Name string `arg:"" help:"Which receiver."`
	JSON bool   `help:"Print what became of it as one JSON object."`
}

// testType is the type of an event that says nothing.
const testType = "webhook.tested.v1"

// Run implements the command.
func (c *webhooksTest) Run(s *surroundings) error {
	f, err := c.load()
	if err != nil {
		return err
	}
	h, err := hookOf(f, c.Name)
	if err != nil {
		return err
	}
	k := events.Key{Tenant: client.DefaultTenant, Chat: client.NewID()}
	e := cloudevents.New(k, 1, 0, testType, events.At(time.Now()), json.RawMessage(`{}`))
	if err := newSender().Send(s.ctx, h, e); err != nil {
		return cli.Exit(cli.ExitUnreachable, fmt.Errorf("webhook %s: %w", h.Name, err))
	}
	if c.JSON {
		return json.NewEncoder(s.stdout).Encode(map[string]string{"name": h.Name, "event": e.ID})
	}
	_, err = fmt.Fprintf(s.stdout, "webhook %s: taken\n", h.Name)
	return err
}

type webhooksRedrive struct {
	remote
	webhookFile

	Name string `arg:"" optional:"" help:"Only those of this receiver."`
	JSON bool   `help:"Print each as one JSON object."`
}

// errLeft means that some events were not taken.
var errLeft = errors.New("not all were taken; the others stay in the file")

// Run implements the command.
func (c *webhooksRedrive) Run(s *surroundings) error {
	f, err := c.load()
	if err != nil {
		return err
	}
	return c.connected(s, func(nc *nats.Conn, _ *client.Client) error {
		left := false
		err := webhook.Redrive(s.ctx, f, newSender(), c.Name, storedCommit(nc), func(r webhook.Redriven) error {
			left = left || !r.Sent
			if c.JSON {
				return json.NewEncoder(s.stdout).Encode(r)
			}
			what := "taken"
			if !r.Sent {
				what = r.Left
			}
			_, err := fmt.Fprintf(s.stdout, "%s %s: %s\n", r.Hook, r.ID, what)
			return err
		})
		if err == nil && left {
			err = errLeft
		}
		return err
	})
}

// storedCommit reads commits as they are stored.
func storedCommit(nc *nats.Conn) func(context.Context, events.Key, uint64) ([]byte, error) {
	return func(ctx context.Context, k events.Key, rev uint64) ([]byte, error) {
		var page transcript.Commits
		err := client.New(nc, k.Tenant, "").Query(ctx, transcript.QueryCommits, transcript.CommitsRequest{Chat: k.Chat, After: rev - 1, Through: rev}, &page)
		if err != nil {
			return nil, err
		}
		if len(page.Commits) != 1 {
			return nil, fmt.Errorf("chat %s has no rev %d", k, rev)
		}
		return page.Commits[0], nil
	}
}

type webhooksForget struct {
	remote

	Name string `arg:"" help:"Which receiver."`
	JSON bool   `help:"Print what became of it as one JSON object."`
}

// Run implements the command.
func (c *webhooksForget) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		if err := events.ValidateAgent(c.Name); err != nil {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("name of a webhook: %w", err))
		}
		had, err := streams.ForgetOutbox(ctx, nc, streams.Options{Domain: c.JSDomain}, c.Name)
		if err != nil {
			return err
		}
		if !had {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("nothing is known of a webhook %s", c.Name))
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(map[string]string{"name": c.Name, "action": "forgotten"})
		}
		_, err = fmt.Fprintf(s.stdout, "webhook %s: forgotten\n", c.Name)
		return err
	})
}
