package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/streams"
)

// tokensCommand is `everturn tokens`.
type tokensCommand struct {
	List   tokensList   `cmd:"" default:"withargs" help:"Show the tokens of the tenant, though not what to type for them: that was shown once."`
	Create tokensCreate `cmd:"" help:"Make a token with which gateways are asked on the tenant's behalf, and show it once."`
	Revoke tokensRevoke `cmd:"" help:"Take a token back. No gateway takes it any more."`
}

// tokens calls do with what keeps the tokens, and with those there are of the tenant.
func (r *remote) tokens(s *surroundings, do func(context.Context, *streams.Tokens, []keptToken) error) error {
	return r.with(s, func(ctx context.Context, nc *nats.Conn, _ *client.Client) error {
		store, err := streams.OpenTokens(nc, streams.Options{Domain: r.JSDomain})
		if err != nil {
			return err
		}
		defer store.Close()
		all, err := store.List(ctx)
		if err != nil {
			return fmt.Errorf("list the tokens: %w", err)
		}
		var own []keptToken
		for _, h := range slices.Sorted(maps.Keys(all)) {
			if t := all[h]; t.Tenant == string(r.Tenant) {
				own = append(own, keptToken{t, h})
			}
		}
		slices.SortStableFunc(own, func(a, b keptToken) int { return cmp.Compare(a.Name, b.Name) })
		return do(ctx, store, own)
	})
}

// keptToken is a token as it is kept.
type keptToken struct {
	streams.Token

	hash streams.TokenHash
}

type tokensList struct {
	remote

	JSON bool `help:"Print each token as one JSON object."`
}

// Run implements the command.
func (c *tokensList) Run(s *surroundings) error {
	return c.tokens(s, func(_ context.Context, _ *streams.Tokens, all []keptToken) error {
		if c.JSON {
			out := json.NewEncoder(s.stdout)
			for _, t := range all {
				if err := out.Encode(t.Token); err != nil {
					return err
				}
			}
			return nil
		}
		table := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "NAME\tSPEAKS FOR\tCREATED\tEXPIRES")
		for _, t := range all {
			fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", t.Name, cmp.Or(t.By, "whom its holder names"), t.Created, expiry(t.Token, time.Now()))
		}
		return table.Flush()
	})
}

// expiry is until when a token counts.
func expiry(t streams.Token, now time.Time) string {
	switch {
	case t.Expires == 0:
		return "never"
	case t.Expires <= events.At(now):
		return t.Expires.String() + ", which is over"
	}
	return t.Expires.String()
}

type tokensCreate struct {
	remote

	Name    string        `arg:"" help:"What it is for; by this name it is revoked."`
	For     string        `placeholder:"WHO" help:"Who speaks with it, such as user:ann: that stands in the log, whatever its holder says. Default: whom its holder names with each request."`
	Expires time.Duration `placeholder:"TIME" help:"How long it counts, such as 720h. Default: until it is revoked."`
	JSON    bool          `help:"Print it as one JSON object."`
}

// maxForBytes bounds who a token may speak for. Orchestrators take no more.
const maxForBytes = 256

// Validate is called by kong.
func (c *tokensCreate) Validate() error {
	if err := events.ValidateAgent(c.Name); err != nil {
		return fmt.Errorf("name of a token: %w", err)
	}
	switch {
	case len(c.For) > maxForBytes:
		return fmt.Errorf("--for: at most %d bytes are allowed", maxForBytes)
	case events.VisibleText(events.RepairText(c.For)) != c.For:
		return errors.New("--for: want a line of text")
	case c.Expires < 0:
		return errors.New("--expires: want a time to come")
	}
	return nil
}

// Run implements the command.
func (c *tokensCreate) Run(s *surroundings) error {
	return c.tokens(s, func(ctx context.Context, store *streams.Tokens, all []keptToken) error {
		if slices.ContainsFunc(all, func(t keptToken) bool { return t.Name == c.Name }) {
			return cli.Exit(cli.ExitConflict, fmt.Errorf(
				"there is a token %s already: revoke it first, or make one of another name beside it", c.Name))
		}
		now := time.Now()
		token, kept := streams.NewToken(), streams.Token{Tenant: string(c.Tenant), Name: c.Name, By: c.For, Created: events.At(now)}
		if c.Expires > 0 {
			kept.Expires = events.At(now.Add(c.Expires))
		}
		if err := store.Put(ctx, streams.HashToken(token), kept); err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(struct {
				streams.Token

				Secret string `json:"token"`
			}{kept, token})
		}
		fmt.Fprintln(s.stderr, "everturn: keep it safe; it is not shown again")
		_, err := fmt.Fprintln(s.stdout, token)
		return err
	})
}

type tokensRevoke struct {
	remote

	Name string `arg:"" help:"Which token."`
	JSON bool   `help:"Print what became of it as one JSON object."`
}

// Run implements the command. Two that were made at once may have one name: both go.
func (c *tokensRevoke) Run(s *surroundings) error {
	return c.tokens(s, func(ctx context.Context, store *streams.Tokens, all []keptToken) error {
		found := false
		for _, t := range all {
			if t.Name != c.Name {
				continue
			}
			if err := store.Delete(ctx, t.hash); err != nil {
				return err
			}
			found = true
		}
		if !found {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("there is no token %.80q; `everturn tokens list` shows those there are", c.Name))
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(struct {
				Name   string `json:"name"`
				Action string `json:"action"`
			}{c.Name, "revoked"})
		}
		_, err := fmt.Fprintf(s.stdout, "token %s: revoked\n", c.Name)
		return err
	})
}
