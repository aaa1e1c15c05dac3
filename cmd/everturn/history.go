package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/internal/verify"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

// history are the flags of commands that look into logs: those of the streams, or
// those in exported files.
type history struct {
	remote

	File []string `type:"existingfile" sep:"none" placeholder:"FILE" help:"Read a file instead that export or log --json printed, - is standard input; may be given again. No server is needed."`
}

// archive is where logs are.
type archive struct {
	// read gives the commits of the chosen logs, each chat's in order.
	read func(logs chosen, take func(events.Key, verify.Entry) error) error

	// blob and manifest are what lies beside the logs. A file has content only if
	// export wrote it, and no manifests: the function is nil.
	blob     func(events.Key, events.Digest) ([]byte, error)
	manifest func(events.Digest) (protocol.Manifest, error)
}

// chosen are the logs that are wanted: that of one chat or, without one, of all
// chats of the tenant or of every tenant. Without a chat a file is taken whole.
type chosen struct {
	chat       chatName
	everywhere bool
}

// open calls do with the archive that the flags name.
func (h *history) open(s *surroundings, do func(archive) error) error {
	if len(h.File) > 0 {
		files := newFileContents(s.stdin)
		return do(archive{
			read: func(logs chosen, take func(events.Key, verify.Entry) error) error {
				return h.readFiles(files, logs, take)
			},
			blob: files.blob,
		})
	}
	return h.with(s, func(ctx context.Context, nc *nats.Conn, cl *client.Client) error {
		reader, err := streams.OpenReader(ctx, nc, streams.Options{Domain: h.JSDomain})
		if err != nil {
			return err
		}
		defer reader.Close()
		return do(archive{
			read: func(logs chosen, take func(events.Key, verify.Entry) error) error {
				return h.readStreams(ctx, reader.Log, cl, logs, take)
			},
			blob:     func(k events.Key, d events.Digest) ([]byte, error) { return reader.Blobs.Get(ctx, k, d) },
			manifest: func(d events.Digest) (protocol.Manifest, error) { return reader.Manifest(ctx, d) },
		})
	})
}

func (h *history) readStreams(
	ctx context.Context, log *streams.Log, cl *client.Client, logs chosen, take func(events.Key, verify.Entry) error,
) error {
	heads, err := (&verifyCommand{Chat: logs.chat}).heads(ctx, log, cl)
	if err != nil {
		return err
	}
	for _, head := range heads {
		if !logs.everywhere && head.Key.Tenant != string(h.Tenant) {
			continue
		}
		after, err := begin(ctx, log, head)
		if err != nil {
			return err
		}
		for m, err := range log.Read(ctx, head.Key, after, head.Sequence) {
			if err != nil {
				return err
			}
			if err := take(head.Key, verify.Entry{Subject: m.Subject, Sequence: m.Sequence, Commit: m.Body}); err != nil {
				return err
			}
		}
	}
	return nil
}

// begin is the sequence behind which a chat's log counts: what is left before the
// tombstone of one that is erased is shown to nobody.
func begin(ctx context.Context, log *streams.Log, head protocol.Head) (uint64, error) {
	last, err := log.Last(ctx, head.Key)
	if err != nil || last.Sequence != head.Sequence || !events.Erased(last.Body) {
		return 0, err
	}
	c, err := events.Decode(last.Body)
	if err != nil {
		return 0, err
	}
	if _, tombstone := c.Events[0].(events.ChatErased); tombstone {
		return last.Sequence - 1, nil
	}
	return 0, nil
}

func (h *history) readFiles(files *fileContents, logs chosen, take func(events.Key, verify.Entry) error) error {
	wanted := events.Key{Tenant: string(h.Tenant), Chat: string(logs.chat)}
	found := logs.chat == ""
	for _, name := range h.File {
		err := files.read(name, func(k events.Key, e verify.Entry) error {
			if logs.chat != "" && k != wanted {
				return nil
			}
			found = true
			return take(k, e)
		}, nil)
		if err != nil {
			return err
		}
	}
	if !found {
		names := make([]string, len(h.File))
		for i, name := range h.File {
			names[i] = fileName(name)
		}
		return cli.Exit(cli.ExitNotFound, fmt.Errorf("%s has no chat %s", strings.Join(names, ", "), wanted))
	}
	return nil
}

// commits calls do with the whole log of a chat.
func (h *history) commits(s *surroundings, chat chatName, do func([]events.Commit, archive) error) error {
	return h.open(s, func(a archive) error {
		var list []events.Commit
		err := a.read(chosen{chat: chat}, func(_ events.Key, e verify.Entry) error {
			c, err := events.Decode(e.Commit)
			if err != nil {
				return fmt.Errorf("sequence %d: %w", e.Sequence, err)
			}
			list = append(list, c)
			return nil
		})
		if err != nil {
			return err
		}
		if n := len(list); n > 0 {
			if _, erased := list[0].Events[0].(events.ChatErased); erased {
				return erasedError(list[0].Key, list[0])
			}
		}
		return notFound(do(list, a))
	})
}

// notFound gives an error its exit code if it says that a log has no such event.
func notFound(err error) error {
	if errors.Is(err, replay.ErrNoEvent) {
		return cli.Exit(cli.ExitNotFound, err)
	}
	return err
}
