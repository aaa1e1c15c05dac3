package main

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
)

// fileContents is what was read of exported files so far.
type fileContents struct {
	stdin   io.Reader
	content map[events.Digest][]byte
	last    map[events.Key]verify.Entry // the newest commit of each chat
}

func newFileContents(stdin io.Reader) *fileContents {
	return &fileContents{stdin: stdin, content: make(map[events.Digest][]byte), last: make(map[events.Key]verify.Entry)}
}

// blob gives content that stood in a file. Nobody can say of what did not whether
// it is lost.
func (x *fileContents) blob(_ events.Key, d events.Digest) ([]byte, error) {
	if content, ok := x.content[d]; ok {
		return content, nil
	}
	return nil, fmt.Errorf("content %s: %w in the file", d, protocol.ErrNotFound)
}

// read reads a file, or standard input under its name. It calls take with each commit; end, which may be nil, with
// what says that a chat is complete.
func (x *fileContents) read(name string, take func(events.Key, verify.Entry) error, end func(verify.End)) (err error) {
	if name == standardStream {
		return x.readFrom(x.stdin, fileName(name), take, end)
	}
	f, err := os.Open(name)
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return x.readFrom(f, name, take, end)
}

// fileName is what people call a file.
func fileName(name string) string {
	if name == standardStream {
		return "standard input"
	}
	return name
}

// readFrom is read of what has that name for people.
func (x *fileContents) readFrom(
	r io.Reader, name string, take func(events.Key, verify.Entry) error, end func(verify.End),
) error {
	for line, err := range verify.ReadLines(r) {
		switch {
		case errors.Is(err, verify.ErrCutOff):
			return cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: %w", name, err))
		case err != nil:
			return cli.Exit(cli.ExitUsage, fmt.Errorf("%s: %w", name, err))
		case line.Content != nil:
			x.content[line.Content.Digest] = line.Content.Bytes
		case line.End != nil:
			if err := x.ends(*line.End); err != nil {
				return cli.Exit(cli.ExitIntegrity, fmt.Errorf("%s: %w", name, err))
			}
			if end != nil {
				end(*line.End)
			}
		case line.Entry != nil:
			_, key, err := protocol.ParseLogSubject(line.Entry.Subject)
			if err != nil {
				return cli.Exit(cli.ExitUsage, fmt.Errorf("%s: %w", name, err))
			}
			x.last[key] = *line.Entry
			if err := take(key, *line.Entry); err != nil {
				return err
			}
		}
	}
	return nil
}

// ends says what is wrong with the end of a chat.
func (x *fileContents) ends(e verify.End) error {
	key := events.Key{Tenant: e.Tenant, Chat: e.Chat}
	last, ok := x.last[key]
	switch {
	case !ok:
		return fmt.Errorf("chat %s ends, and has no commits", key)
	case events.Hash(last.Commit) != e.Hash:
		return fmt.Errorf("chat %s does not end with the commit it was exported with, rev %d: commits are missing, or changed", key, e.Rev)
	}
	return nil
}
