package main

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/oklog/ulid/v2"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/projections"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
)

type deadRedrive struct{ oneLetter }

// Run implements the command.
func (c *deadRedrive) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, nc *nats.Conn, letters *streams.Letters, l streams.Letter) error {
		r := redrive{nc: nc, letters: letters, letter: l, domain: c.JSDomain}
		reply, err := r.run(ctx)
		if err != nil {
			return fmt.Errorf("%w; the letter is kept", err)
		}
		err = rejection(reply)
		if dropErr := letters.Drop(ctx, l); dropErr != nil {
			return errors.Join(err, dropErr) // once more gives the same answer
		}
		return s.redriven(l, reply, err, c.JSON)
	})
}

// redriven prints what became of the command.
func (s *surroundings) redriven(l streams.Letter, r protocol.Reply, err error, asJSON bool) error {
	if asJSON {
		return errors.Join(err, json.NewEncoder(s.stdout).Encode(struct {
			Tenant string `json:"tenant"`
			Chat   string `json:"chat"`
			Letter string `json:"letter"` // id of the command that was set aside
			protocol.Reply
		}{l.Key.Tenant, l.Key.Chat, l.Command, r}))
	}
	if r.ID != l.Command {
		fmt.Fprintf(s.stderr, "the no to command %s stands; it was sent again as %s\n", l.Command, r.ID)
	}
	return s.decided(l.Key.Chat, r, err, false)
}

// redrive has a command decided that was set aside.
//
// What was decided never changes, and the same id is the same command. So one on
// record is answered with its record, unless that says only that it was set
// aside: then its content comes again as a command of its own, whose id follows
// from the old one. However often, and from wherever, a letter is redriven, it
// takes effect once.
type redrive struct {
	nc      *nats.Conn
	letters *streams.Letters
	letter  streams.Letter
	domain  string
}

// run gives what was decided and is on record, be it yes or no. After an error
// the letter is still needed.
func (r redrive) run(ctx context.Context) (protocol.Reply, error) {
	raw, err := r.letters.Body(ctx, r.letter)
	if err != nil {
		return protocol.Reply{}, err
	}
	body, err := protocol.DecodeCommand(r.letter.Verb, raw)
	if err != nil {
		return protocol.Reply{}, fmt.Errorf("this release cannot read it, perhaps the one that set it aside can: %w", err)
	}
	id := r.letter.Command
	record, err := r.record(ctx, id)
	if err == nil && record.Code == events.CodeUndeliverable {
		id = redrivenID(id)
		record, err = r.record(ctx, id)
	}
	if err != nil || record.ID != "" {
		return record, err
	}
	if waits, err := r.letters.Waits(ctx, r.letter); err != nil || waits && id == r.letter.Command {
		if err == nil {
			err = cli.Exit(cli.ExitConflict, fmt.Errorf("command %s still waits to be decided", id))
		}
		return protocol.Reply{}, err
	}
	return r.send(ctx, id, body)
}

// send has the command decided under an id. A no without a record has served
// only if the command was set aside anew: then it has a newer letter.
func (r redrive) send(ctx context.Context, id string, body protocol.Body) (protocol.Reply, error) {
	cl := client.New(r.nc, r.letter.Key.Tenant, r.letter.By)
	reply, err := cl.CommandWithID(ctx, r.letter.Key.Chat, id, body)
	no, rejected := errors.AsType[*client.RejectedError](err)
	if rejected && (no.Rev != 0 || no.Code == events.CodeUndeliverable) {
		return reply, nil
	}
	return reply, err
}

// rejection is a no as an error.
func rejection(r protocol.Reply) error {
	if r.OK {
		return nil
	}
	return &client.RejectedError{Reply: r}
}

// record is what the log says of a command, however long ago it was decided; one
// without an id if that is nothing.
func (r redrive) record(ctx context.Context, id string) (protocol.Reply, error) {
	reader, err := streams.OpenReader(ctx, r.nc, streams.Options{Domain: r.domain})
	if err != nil {
		return protocol.Reply{}, err
	}
	defer reader.Close()
	p, err := projections.New(projections.Config{Log: reader.Log, Blobs: reader.Blobs})
	if err != nil {
		return protocol.Reply{}, err
	}
	key := r.letter.Key
	record, err := p.Command(ctx, key.Tenant, projections.CommandRequest{Chat: key.Chat, ID: id})
	if no, ok := errors.AsType[*protocol.RefusedError](err); ok {
		if no.Code == events.CodeUnavailable || no.Code == events.CodeUnknownChat {
			return protocol.Reply{}, nil
		}
		return protocol.Reply{}, &client.QueryError{Code: no.Code, Message: no.Detail}
	}
	return record, err
}

// redrivenID is the id under which the content of a command comes again.
func redrivenID(id string) string {
	old, err := ulid.ParseStrict(id)
	if err != nil {
		return id
	}
	digest := sha256.Sum256([]byte("everturn redrive of " + id))
	again := old // of the same time
	copy(again[6:], digest[:])
	return again.String()
}
