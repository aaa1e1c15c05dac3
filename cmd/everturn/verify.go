package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/orchestrator"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// verifyCommand is `everturn verify`.
type verifyCommand struct {
	remote

	Chat  chatName `arg:"" optional:"" help:"Which chat. Default: every chat of every tenant."`
	File  []string `type:"existingfile" sep:"none" placeholder:"FILE" help:"Check an exported file instead, or several; - is standard input. No server is needed."`
	JSON  bool     `help:"Print each finding, and at the end the verdict, as one JSON object."`
	Idle  bool     `help:"Also demand that nothing is open, and no decided command stored: for logs nobody works on any more."`
	Rules bool     `help:"List the rules and what of them applies, and check nothing."`
}

// Run implements the command.
func (c *verifyCommand) Run(s *surroundings) error {
	switch {
	case c.Rules:
		return c.rules(s.stdout)
	case len(c.File) > 0:
		return c.files(s)
	}
	return c.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		return c.logs(ctx, s, reader, cl)
	})
}

// logs checks what an installation has.
func (c *verifyCommand) logs(ctx context.Context, s *surroundings, reader *streams.Reader, cl *client.Client) error {
	heads, err := c.heads(ctx, reader.Log, cl)
	if err != nil {
		return err
	}
	content := contents{reader: reader}
	checker := verify.New(verify.Options{
		Idle: c.Idle, Shards: reader.Log.Shards(),
		Blob:   func(k events.Key, d events.Digest) ([]byte, error) { return content.get(ctx, k, d) },
		Schema: func(manifest events.Digest) (json.RawMessage, error) { return content.schema(ctx, manifest) },

		Snapshot: func(k events.Key) []byte { return content.snapshot(ctx, k) },
	})
	for _, head := range heads {
		for m, err := range reader.Log.Read(ctx, head.Key, 0, head.Sequence) {
			if err != nil {
				return err
			}
			checker.Add(verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
		}
	}
	var stored []verify.StoredCommand
	if c.Idle {
		if stored, err = c.commands(ctx, reader, cl); err != nil {
			return err
		}
	}
	if content.failed != nil {
		return fmt.Errorf("not all content could be read: %w", content.failed)
	}
	return c.verdict(s.stdout, checker, stored)
}

// commands are those that are still stored for the chats to check.
func (c *verifyCommand) commands(ctx context.Context, reader *streams.Reader, cl *client.Client) ([]verify.StoredCommand, error) {
	of := events.Key{Tenant: protocol.Any, Chat: protocol.Any}
	if c.Chat != "" {
		of = cl.Key(string(c.Chat))
	}
	var stored []verify.StoredCommand
	for from := uint64(1); ; {
		m, err := reader.Command(ctx, of, from)
		if errors.Is(err, protocol.ErrNotFound) {
			return stored, nil
		}
		if err != nil {
			return nil, err
		}
		if k, _, err := protocol.ParseCommandSubject(m.Subject); err == nil { // else no chat's
			stored = append(stored, verify.StoredCommand{Key: k, ID: m.Get(protocol.HeaderID), Sequence: m.Sequence})
		}
		from = m.Sequence + 1
	}
}

// contents gives the checker what lies outside of the log, and keeps the first
// reason for which it could not.
type contents struct {
	reader *streams.Reader
	failed error
}

func (c *contents) get(ctx context.Context, k events.Key, d events.Digest) ([]byte, error) {
	if c.failed != nil {
		return nil, verify.ErrNotSeen
	}
	content, err := c.reader.Blobs.Get(ctx, k, d)
	return content, c.seen(err)
}

func (c *contents) schema(ctx context.Context, manifest events.Digest) (json.RawMessage, error) {
	if c.failed != nil {
		return nil, verify.ErrNotSeen
	}
	m, err := c.reader.Manifest(ctx, manifest)
	return m.Schema, c.seen(err)
}

// snapshot is the stored state of a chat, nothing if there is none that an
// orchestrator would believe.
func (c *contents) snapshot(ctx context.Context, k events.Key) []byte {
	if c.failed != nil {
		return nil
	}
	content, err := c.reader.Snapshot(ctx, k, chat.FoldVersion)
	if err != nil {
		if !errors.Is(err, protocol.ErrNotFound) {
			c.failed = err
		}
		return nil
	}
	s, err := orchestrator.ReadSnapshot(content)
	if err != nil {
		return nil
	}
	state, err := chat.Encode(s)
	if err != nil {
		c.failed = err
		return nil
	}
	return state
}

// seen keeps an error that says nothing about the content.
func (c *contents) seen(err error) error {
	if err == nil || errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		return err
	}
	c.failed = err
	return fmt.Errorf("%w: %w", verify.ErrNotSeen, err)
}

// heads are the newest commits of the chats to check, in the order of their keys.
func (c *verifyCommand) heads(ctx context.Context, log *streams.Log, cl *client.Client) ([]protocol.Head, error) {
	if c.Chat != "" {
		key := cl.Key(string(c.Chat))
		last, err := log.Last(ctx, key)
		if errors.Is(err, protocol.ErrNotFound) {
			return nil, cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s does not exist", key))
		}
		return []protocol.Head{{Key: key, Sequence: last.Sequence}}, err
	}
	return log.AllHeads(ctx)
}

// files checks exported files as one log: a chat may be spread over several, if
// they are named in its order.
func (c *verifyCommand) files(s *surroundings) error {
	x := newFileContents(s.stdin)
	checker := verify.New(verify.Options{Idle: c.Idle, Blob: blobSeen(x)})
	for _, name := range c.File {
		err := x.read(name, func(_ events.Key, e verify.Entry) error {
			checker.Add(e)
			return nil
		}, nil)
		if err != nil {
			return err
		}
	}
	return c.verdict(s.stdout, checker, nil)
}

// blobSeen gives the checker what stood in files.
func blobSeen(x *fileContents) func(events.Key, events.Digest) ([]byte, error) {
	return func(k events.Key, d events.Digest) ([]byte, error) {
		content, err := x.blob(k, d)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", verify.ErrNotSeen, err)
		}
		return content, nil
	}
}

// rules lists what is checked.
func (c *verifyCommand) rules(w io.Writer) error {
	out := json.NewEncoder(w)
	for _, r := range verify.Rules() {
		if c.JSON {
			if err := out.Encode(rule{r.Rule, r.Judged, r.Means, r.NotYet}); err != nil {
				return err
			}
			continue
		}
		state := "checked"
		if !r.Judged {
			state = "not yet"
		}
		later := ""
		if r.NotYet != "" {
			later = " (not yet: " + r.NotYet + ")"
		}
		if _, err := fmt.Fprintf(w, "%-4s%-9s%s%s\n", r.Rule, state, r.Means, later); err != nil {
			return err
		}
	}
	return nil
}

// rule is one of the rules, as JSON.
type rule struct {
	Rule   verify.Rule `json:"rule"`
	Judged bool        `json:"judged"`
	Means  string      `json:"means"`
	NotYet string      `json:"not_yet,omitempty"`
}

// found is a violation, or a commit that was not judged, as JSON.
type found struct {
	Rule     verify.Rule `json:"rule,omitempty"`
	Tenant   string      `json:"tenant"`
	Chat     string      `json:"chat"`
	Rev      uint64      `json:"rev,omitempty"`
	Sequence uint64      `json:"sequence"`
	Detail   string      `json:"detail"`
	Clash    *earlier    `json:"clash,omitempty"` // the earlier place that this one contradicts
}

// earlier is a commit of the chat, as JSON.
type earlier struct {
	Rev      uint64 `json:"rev"`
	Sequence uint64 `json:"sequence"`
}

// clash is where a violation clashes, nil if nowhere.
func clash(v verify.Violation) *earlier {
	if v.Clash == (verify.Place{}) {
		return nil
	}
	return &earlier{v.Clash.Rev, v.Clash.Sequence}
}

// verdict prints every violation and ends with [cli.ExitIntegrity] if there is one.
func (c *verifyCommand) verdict(w io.Writer, checker *verify.Checker, stored []verify.StoredCommand) error {
	broken := checker.Finish(stored)
	chats := len(checker.Chats())
	out := json.NewEncoder(w)
	tell := func(line fmt.Stringer, as found) error {
		if c.JSON {
			return out.Encode(as)
		}
		_, err := fmt.Fprintln(w, line)
		return err
	}
	var errs []error
	for _, v := range broken {
		errs = append(errs, tell(v, found{v.Rule, v.Chat.Tenant, v.Chat.Chat, v.Rev, v.Sequence, v.Detail, clash(v)}))
	}
	for _, u := range checker.Unread() {
		errs = append(errs, tell(unread(u), found{"", u.Chat.Tenant, u.Chat.Chat, 0, u.Sequence, u.Err.Error(), nil}))
	}
	if c.JSON {
		errs = append(errs, out.Encode(map[string]int{"chats": chats, "broken": len(broken), "not_judged": len(checker.Unread())}))
	}
	if len(broken) > 0 {
		return cli.Exit(cli.ExitIntegrity, errors.Join(append(errs, fmt.Errorf("%s broken in %s", counted(len(broken), "rule"), counted(chats, "chat")))...))
	}
	if !c.JSON {
		_, err := fmt.Fprintf(w, "%s, no rule broken\n", counted(chats, "chat"))
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// unread is a commit that only a newer release can judge.
type unread verify.Unread

// String is the line for people.
func (u unread) String() string {
	return fmt.Sprintf("not judged: chat %s from sequence %d on: %v", u.Chat, u.Sequence, u.Err)
}
