package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/everturn/everturn/chat"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
)

// diffCommand is `everturn diff`.
type diffCommand struct {
	history

	Chat chatName `arg:"" help:"Which chat."`
	From uint64   `arg:"" help:"A rev; 0 is before the chat was created."`
	To   uint64   `arg:"" help:"Another one."`
	JSON bool     `help:"Print each event between, and then each change of the state, as one JSON object."`
}

// happened is an event of a log as JSON.
type happened struct {
	Rev   uint64          `json:"rev"`
	Event int             `json:"event"`
	At    events.Time     `json:"at"`
	Type  events.Type     `json:"type"`
	About string          `json:"about,omitempty"`
	Data  json.RawMessage `json:"data"`
	Cause *events.Cause   `json:"cause,omitempty"`
}

// Run implements the command.
func (c *diffCommand) Run(s *surroundings) error {
	return c.commits(s, c.Chat, func(commits []events.Commit, a archive) error {
		first, last := min(c.From, c.To), max(c.From, c.To)
		if last > uint64(len(commits)) {
			return cli.Exit(cli.ExitNotFound, fmt.Errorf("chat %s has no rev %d, the last is %d", c.Chat, last, len(commits)))
		}
		from, err := stateAt(commits, c.From, a)
		if err != nil {
			return err
		}
		to, err := stateAt(commits, c.To, a)
		if err != nil {
			return err
		}
		changes, err := replay.Changes(from, to)
		if err != nil {
			return err
		}
		if err := c.between(s.stdout, commits[first:last]); err != nil {
			return err
		}
		return c.changed(s.stdout, changes)
	})
}

// stateAt is the JSON of a chat's state at a rev.
func stateAt(commits []events.Commit, rev uint64, a archive) ([]byte, error) {
	state, err := replay.Fold(commits[:rev], a.blob)
	if err != nil {
		return nil, cli.Exit(cli.ExitIntegrity, err)
	}
	b, err := chat.Encode(state)
	if err != nil {
		return nil, err
	}
	var snapshot struct {
		State json.RawMessage `json:"state"`
	}
	err = json.Unmarshal(b, &snapshot)
	return snapshot.State, err
}

func (c *diffCommand) between(w io.Writer, commits []events.Commit) error {
	var errs []error
	for _, commit := range commits {
		for i, e := range commit.Events {
			errs = append(errs, c.event(w, commit, i, e))
		}
	}
	return errors.Join(errs...)
}

func (c *diffCommand) event(w io.Writer, commit events.Commit, i int, e events.Event) error {
	if !c.JSON {
		_, err := fmt.Fprintf(w, "%s  %s\n", eventPlace(commit.Rev, i+1), words(e))
		return err
	}
	data, err := events.EncodeEvent(e)
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(happened{
		Rev: commit.Rev, Event: i + 1, At: commit.At, Type: e.EventType(), About: replay.About(e), Data: data,
	})
}

// changed prints changes: "-" was there, "+" is there now, "~" is another.
func (c *diffCommand) changed(w io.Writer, changes []replay.Change) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	var errs []error
	for _, change := range changes {
		var err error
		switch {
		case c.JSON:
			err = out.Encode(change)
		case change.Old == nil:
			_, err = fmt.Fprintf(w, "+ %s  %s\n", change.Path, shorten(string(change.New)))
		case change.New == nil:
			_, err = fmt.Fprintf(w, "- %s  %s\n", change.Path, shorten(string(change.Old)))
		default:
			_, err = fmt.Fprintf(w, "~ %s  %s -> %s\n", change.Path, shorten(string(change.Old)), shorten(string(change.New)))
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// eventPlace is an event's place as `everturn why` takes it.
func eventPlace(rev uint64, event int) string { return fmt.Sprintf("%d.%d", rev, event) }

// words are an event's type and what it is about.
func words(e events.Event) string {
	if about := replay.About(e); about != "" {
		return string(e.EventType()) + "  " + about
	}
	return string(e.EventType())
}
