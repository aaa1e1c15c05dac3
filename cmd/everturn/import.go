package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// importCommand is `everturn import`.
type importCommand struct {
	remote

	File  string   `arg:"" type:"existingfile" help:"What export wrote; - is standard input."`
	ID    chatName `placeholder:"CHAT" help:"Id of the new chat. Default: a new one."`
	Title string   `help:"Its title. Default: the one it had."`
	JSON  bool     `help:"Print the outcome as one JSON object."`
}

// Run implements the command. Nothing is sent before the whole file was read and
// found to be good, and nothing is a chat before all of it is stored.
func (c *importCommand) Run(s *surroundings) error {
	f, err := s.readImport(c.File)
	if err != nil {
		return err
	}
	for _, d := range f.missing {
		fmt.Fprintf(s.stderr, "everturn: content %s was lost before the export, and so it is missing here\n", d)
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		id := string(c.ID)
		if id == "" {
			id = client.NewID()
		}
		for _, content := range f.contents {
			if _, err := cl.UploadImport(ctx, id, content); err != nil {
				return err
			}
		}
		r, err := cl.Import(ctx, id, protocol.Import{History: f.history, Missing: f.missing, Title: c.Title})
		return s.decided(id, r, err, c.JSON)
	})
}

// importFile is what an exported chat comes to.
type importFile struct {
	contents [][]byte // what is to be uploaded
	history  events.Digest
	missing  []events.Digest
}

// readImport reads a file and says what keeps it from being one whole chat.
func (s *surroundings) readImport(name string) (importFile, error) {
	x, called := newFileContents(s.stdin), fileName(name)
	checker := verify.New(verify.Options{Blob: blobSeen(x)})
	var raw []byte
	var ends []verify.End
	commits := 0
	err := x.read(name, func(k events.Key, e verify.Entry) error {
		if len(x.last) > 1 {
			return cli.Exit(cli.ExitUsage, fmt.Errorf("%s: more than one chat; %s is another one", called, k))
		}
		checker.Add(e)
		if commits++; commits == 1 {
			before, err := x.before(k, e)
			if err != nil {
				return fmt.Errorf("%s: %w", called, err)
			}
			raw = slices.Clone(before)
		}
		raw = append(append(raw, e.Commit...), '\n')
		return nil
	}, func(e verify.End) { ends = append(ends, e) })
	if err != nil {
		return importFile{}, err
	}
	if commits == 0 || len(ends) != 1 {
		return importFile{}, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: it does not say where the chat ends; it is no export, or was cut off", called))
	}
	h, err := readHistory(called, raw)
	if err != nil {
		return importFile{}, err
	}
	if broken := checker.Finish(nil); len(broken) > 0 {
		return importFile{}, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: %s; `everturn verify --file` says all that is wrong", called, broken[0]))
	}
	return x.importFile(called, h, raw, ends[0].Missing)
}

// before is the history that the chat in the file goes on from itself.
func (x *fileContents) before(k events.Key, first verify.Entry) ([]byte, error) {
	var inherited events.ChatInherited
	c, err := events.Decode(first.Commit) // whoever reads the history says what is wrong
	if err == nil {
		inherited, _ = c.Events[0].(events.ChatInherited)
	}
	if inherited.History == "" {
		return nil, nil
	}
	history, err := x.blob(k, inherited.History)
	if err != nil {
		return nil, cli.Exit(cli.ExitIntegrity, err)
	}
	return history, nil
}

func readHistory(name string, raw []byte) (*chat.History, error) {
	h, err := chat.ReadHistory(raw)
	if newer, ok := errors.AsType[*events.VersionError](err); ok {
		return nil, cli.Exit(cli.ExitFailure, fmt.Errorf("%s: %w; take the release that it was exported with, or a newer one", name, newer))
	}
	if err != nil {
		return nil, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: %w", name, err))
	}
	return h, nil
}

// importFile collects what is to be uploaded.
func (x *fileContents) importFile(name string, h *chat.History, raw []byte, missing []events.Digest) (importFile, error) {
	f := importFile{history: h.Digest}
	for _, d := range h.Contents {
		content, err := x.blob(events.Key{}, d)
		switch {
		case err != nil && slices.Contains(missing, d):
			f.missing = append(f.missing, d)
			continue
		case err != nil:
			return f, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: %w", name, err))
		case events.DigestOf(content) != d:
			return f, cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: content %s was changed: its digest is %s", name, d, events.DigestOf(content)))
		}
		f.contents = append(f.contents, content)
	}
	f.contents = append(f.contents, raw)
	return f, nil
}
