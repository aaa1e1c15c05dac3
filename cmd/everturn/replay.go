package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/internal/verify"
)

// replayCommand is `everturn replay`.
type replayCommand struct {
	history

	Chat chatName `arg:"" optional:"" help:"Which chat. Default: every chat of the tenant."`
	All  bool     `help:"Every chat of every tenant."`
	JSON bool     `help:"Print each difference, and at the end the verdict, as one JSON object."`
}

// Run implements the command.
func (c *replayCommand) Run(s *surroundings) error {
	if c.All && c.Chat != "" {
		return cli.Exit(cli.ExitUsage, errors.New("either a chat or --all"))
	}
	return c.open(s, func(a archive) error {
		logs := replayed{chats: make(map[events.Key]*replay.History), options: beside(a)}
		if err := a.read(chosen{chat: c.Chat, everywhere: c.All}, logs.add); err != nil {
			return err
		}
		return c.verdict(s.stdout, logs)
	})
}

// beside are the replay's options where that archive is.
func beside(a archive) replay.Options {
	o := replay.Options{Blob: a.blob}
	if a.manifest != nil {
		o.Schema = func(d events.Digest) (json.RawMessage, error) {
			m, err := a.manifest(d)
			return m.Schema, err
		}
	}
	return o
}

// replayed are the histories of chats, in the order in which they begin.
type replayed struct {
	options replay.Options
	chats   map[events.Key]*replay.History
	order   []events.Key
}

func (r *replayed) add(k events.Key, e verify.Entry) error {
	h, ok := r.chats[k]
	if !ok {
		h = replay.New(r.options)
		r.chats[k], r.order = h, append(r.order, k)
	}
	h.Add(e.Sequence, e.Commit)
	return nil
}

// difference is a [replay.Difference] as JSON; the two sides are text, since not
// both need be JSON.
type difference struct {
	Tenant   string      `json:"tenant"`
	Chat     string      `json:"chat"`
	Rev      uint64      `json:"rev"`
	Sequence uint64      `json:"sequence"`
	Event    int         `json:"event,omitempty"`
	Type     events.Type `json:"type,omitempty"`
	Field    string      `json:"field,omitempty"`
	Logged   string      `json:"logged"`
	Decided  string      `json:"decided"`
}

// replayVerdict is the last line of JSON.
type replayVerdict struct {
	Chats     int `json:"chats"`
	Commits   int `json:"commits"`
	Believed  int `json:"believed"`
	Different int `json:"different"`
	NotJudged int `json:"not_judged"`
}

// verdict prints the first difference of each chat and ends with
// [cli.ExitIntegrity] if there is one.
func (c *replayCommand) verdict(w io.Writer, logs replayed) error {
	v := replayVerdict{Chats: len(logs.order)}
	out := json.NewEncoder(w)
	var errs []error
	for _, k := range logs.order {
		h := logs.chats[k]
		v.Commits += h.Counts().Commits
		v.Believed += h.Counts().Believed
		if h.Newer() != nil {
			v.NotJudged++
			if !c.JSON {
				_, err := fmt.Fprintf(w, "not judged: chat %s from %v on\n", k, h.Newer())
				errs = append(errs, err)
			}
		}
		d := h.Difference()
		if d == nil {
			continue
		}
		v.Different++
		if c.JSON {
			errs = append(errs, out.Encode(difference{k.Tenant, k.Chat, d.Rev, d.Sequence, d.Event, d.Type, d.Field, d.Logged, d.Decided}))
		} else {
			d.Logged, d.Decided = shorten(d.Logged), shorten(d.Decided)
			_, err := fmt.Fprintln(w, d)
			errs = append(errs, err)
		}
	}
	if c.JSON {
		errs = append(errs, out.Encode(v))
	}
	if v.Different > 0 {
		return cli.Exit(cli.ExitIntegrity, errors.Join(append(errs, fmt.Errorf("%d of %s would go another way today", v.Different, counted(v.Chats, "chat")))...))
	}
	if !c.JSON {
		_, err := fmt.Fprintf(w, "%s, %s, no difference; %d taken at their word\n", counted(v.Chats, "chat"), counted(v.Commits, "commit"), v.Believed)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
