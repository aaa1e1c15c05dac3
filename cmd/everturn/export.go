package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/cloudevents"
	"github.com/everturn/everturn/streams"
)

// exportCommand is `everturn export`.
type exportCommand struct {
	remote
	oneChat

	Format string `default:"everturn" enum:"everturn,cloudevents" help:"everturn is whole and can be imported; cloudevents has the events alone, one a line, for other systems."`
	Out    string `placeholder:"FILE" help:"Where to write; a file of that name is replaced, a pipe or a device is written to. Default, and -: standard output."`
}

// Run implements the command.
func (c *exportCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: c.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		var end verify.End
		write := func(w io.Writer) (err error) {
			if c.Format == formatCloudEvents {
				end, err = exportEvents(ctx, reader, cl.Key(string(c.Chat)), w)
			} else {
				end, err = export(ctx, reader, cl.Key(string(c.Chat)), w)
			}
			return err
		}
		if c.Out == "" || c.Out == standardStream {
			err = write(s.stdout)
		} else {
			err = writeFile(c.Out, write)
		}
		if err != nil {
			return err
		}
		for _, d := range end.Missing {
			fmt.Fprintf(s.stderr, "everturn: content %s is lost, and so it is missing in the export\n", d)
		}
		fmt.Fprintf(s.stderr, "chat %s, rev %d, hash %s\n", end.Chat, end.Rev, end.Hash)
		return nil
	})
}

// formatCloudEvents is the format of exports for other systems.
const formatCloudEvents = "cloudevents"

// existing is the newest commit of a chat, which must be there.
func existing(ctx context.Context, reader *streams.Reader, k events.Key) (protocol.Stored, error) {
	last, err := reader.Log.Last(ctx, k)
	if errors.Is(err, protocol.ErrNotFound) {
		return last, cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s does not exist", k))
	}
	if err == nil {
		err = notErased(k, last.Body)
	}
	return last, err
}

// exportEvents writes the events of a chat as CloudEvents, one a line.
func exportEvents(ctx context.Context, reader *streams.Reader, k events.Key, w io.Writer) (verify.End, error) {
	last, err := existing(ctx, reader, k)
	if err != nil {
		return verify.End{}, err
	}
	out := bufio.NewWriter(w)
	lines := json.NewEncoder(out)
	end := verify.End{Tenant: k.Tenant, Chat: k.Chat}
	for m, err := range reader.Log.Read(ctx, k, 0, last.Sequence) {
		if err != nil {
			return end, fmt.Errorf("export: %w", err)
		}
		list, err := cloudevents.Of(m.Body)
		if err != nil {
			return end, fmt.Errorf("export: message %d: %w", m.Sequence, err)
		}
		for _, e := range list {
			if err := lines.Encode(e); err != nil {
				return end, fmt.Errorf("export: %w", err)
			}
		}
		end.Rev, end.Hash = list[0].Rev, events.Hash(m.Body)
	}
	return end, out.Flush()
}

// export writes a chat: its commits as they are stored, before each the content
// that it is the first to refer to, and its end.
func export(ctx context.Context, reader *streams.Reader, k events.Key, w io.Writer) (verify.End, error) {
	last, err := existing(ctx, reader, k)
	if err != nil {
		return verify.End{}, err
	}
	out := bufio.NewWriter(w)
	x := exporter{reader: reader, key: k, out: out, done: make(map[events.Digest]bool)}
	x.end = verify.End{Tenant: k.Tenant, Chat: k.Chat}
	for m, err := range reader.Log.Read(ctx, k, 0, last.Sequence) {
		if err == nil {
			err = x.commit(ctx, m)
		}
		if err != nil {
			return verify.End{}, fmt.Errorf("export: %w", err)
		}
	}
	err = verify.WriteEnd(out, x.end)
	if err == nil {
		err = out.Flush()
	}
	if err != nil {
		return verify.End{}, fmt.Errorf("export: %w", err)
	}
	return x.end, nil
}

// exporter writes one chat.
type exporter struct {
	reader *streams.Reader
	key    events.Key
	out    io.Writer
	done   map[events.Digest]bool // content
	end    verify.End
}

// commit writes a commit. One that cannot be read is written all the same, for
// whoever finds out what has become of it.
func (x *exporter) commit(ctx context.Context, m protocol.Stored) error {
	x.end.Rev++
	x.end.Hash = events.Hash(m.Body)
	if c, err := events.Decode(m.Body); err == nil {
		x.end.Rev = c.Rev
		for _, e := range c.Events {
			if err := x.contents(ctx, e); err != nil {
				return err
			}
		}
	}
	return verify.WriteCommit(x.out, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body})
}

// contents writes what an event refers to, and what that refers to.
func (x *exporter) contents(ctx context.Context, e events.Event) error {
	if err := x.referred(ctx, e); err != nil {
		return err
	}
	inherited, ok := e.(events.ChatInherited)
	if !ok {
		return nil
	}
	history, err := x.content(ctx, inherited.History)
	if err != nil {
		return err
	}
	list, _ := events.ReadHistory(history) // one that cannot be read is of no use to anybody; verify says why
	for _, c := range list {
		for _, e := range c.Events {
			if err := x.referred(ctx, e); err != nil {
				return err
			}
		}
	}
	return nil
}

// referred writes what an event itself refers to.
func (x *exporter) referred(ctx context.Context, e events.Event) error {
	for _, d := range events.ContentOf(e) {
		if _, err := x.content(ctx, d); err != nil {
			return err
		}
	}
	return nil
}

func (x *exporter) content(ctx context.Context, d events.Digest) ([]byte, error) {
	if x.done[d] {
		return nil, nil
	}
	x.done[d] = true
	content, err := x.reader.Blobs.Get(ctx, x.key, d)
	if errors.Is(err, protocol.ErrNotFound) || errors.Is(err, protocol.ErrDamaged) {
		x.end.Missing = append(x.end.Missing, d)
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return content, verify.WriteContent(x.out, verify.Content{Digest: d, Bytes: content})
}
