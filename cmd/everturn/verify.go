package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// verifyCommand is `everturn verify`.
type verifyCommand struct {
	remote

	Chat string `arg:"" optional:"" help:"Which chat. Default: every chat of every tenant."`
	File string `type:"existingfile" placeholder:"FILE" help:"Check an exported file instead; no server is needed."`
	Idle bool   `help:"Also demand that nothing is open: for logs nobody works on any more."`
}

// Run implements the command.
func (c *verifyCommand) Run(s *surroundings) error {
	if c.File != "" {
		return c.file(s)
	}
	return c.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		log := reader.Log
		heads, err := c.heads(ctx, log, cl)
		if err != nil {
			return err
		}
		checker := verify.New(verify.Options{Idle: c.Idle, Shards: log.Shards()})
		for _, head := range heads {
			for m, err := range log.Read(ctx, head.Key, 0, head.Sequence) {
				if err != nil {
					return err
				}
				checker.Add(verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
			}
		}
		return verdict(s.stdout, checker)
	})
}

// heads are the newest commits of the chats to check, in the order of their keys.
func (c *verifyCommand) heads(ctx context.Context, log *streams.Log, cl *client.Client) ([]protocol.Head, error) {
	if c.Chat != "" {
		key := cl.Key(c.Chat)
		if err := key.Validate(); err != nil {
			return nil, cli.Exit(cli.ExitUsage, err)
		}
		last, err := log.Last(ctx, key)
		if errors.Is(err, protocol.ErrNotFound) {
			return nil, cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s does not exist", key))
		}
		return []protocol.Head{{Key: key, Sequence: last.Sequence}}, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	newest := map[events.Key]protocol.Head{}
	complete := false
	err := log.Heads(ctx, func(h protocol.Head) {
		if !complete {
			newest[h.Key] = h
		}
	}, func() { complete = true; cancel() })
	if !complete {
		return nil, err
	}
	heads := make([]protocol.Head, 0, len(newest))
	for _, h := range newest {
		heads = append(heads, h)
	}
	slices.SortFunc(heads, func(a, b protocol.Head) int {
		return slices.Compare([]string{a.Key.Tenant, a.Key.Chat}, []string{b.Key.Tenant, b.Key.Chat})
	})
	return heads, nil
}

// file checks an exported file.
func (c *verifyCommand) file(s *surroundings) (err error) {
	f, err := os.Open(c.File)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	checker := verify.New(verify.Options{Idle: c.Idle})
	for entry, err := range verify.ReadEntries(f) {
		if err != nil {
			return cli.Exit(cli.ExitUsage, err)
		}
		checker.Add(entry)
	}
	return verdict(s.stdout, checker)
}

// verdict prints every violation and ends with [cli.ExitIntegrity] if there is one.
func verdict(w io.Writer, checker *verify.Checker) error {
	found := checker.Finish(nil)
	for _, v := range found {
		fmt.Fprintln(w, v)
	}
	for _, u := range checker.Unread() {
		fmt.Fprintf(w, "not judged: chat %s from sequence %d on: %v\n", u.Chat, u.Sequence, u.Err)
	}
	if len(found) > 0 {
		return cli.Exit(cli.ExitIntegrity, fmt.Errorf("%d rules broken in %d chats", len(found), len(checker.Chats())))
	}
	_, err := fmt.Fprintf(w, "%d chats, no rule broken\n", len(checker.Chats()))
	return err
}
