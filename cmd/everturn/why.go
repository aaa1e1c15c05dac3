package main

import (
	"encoding/json"
	"fmt"
	"io"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
)

// whyCommand is `everturn why`.
type whyCommand struct {
	history

	Chat  chatName  `arg:"" help:"Which chat."`
	Event eventName `arg:"" help:"Which event: REV or REV.EVENT; a call such as 3.2.1, turn:N or step:N.M, which mean the newest event about it; the id of a commit, a command, an input or a claim."`
	JSON  bool      `help:"Print each event of the chain as one JSON object."`
}

// eventName names an event for [replay.Why].
type eventName string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *eventName) UnmarshalText(text []byte) error {
	*n = eventName(text)
	return replay.CheckName(string(text))
}

// Run implements the command.
func (c *whyCommand) Run(s *surroundings) error {
	return c.commits(s, c.Chat, func(commits []events.Commit, _ archive) error {
		chain, err := replay.Why(commits, string(c.Event))
		if err != nil {
			return err
		}
		if c.JSON {
			return printChain(s.stdout, chain)
		}
		for i, l := range chain {
			fmt.Fprintf(s.stdout, "%-6s %s  %s\n", eventPlace(l.Rev, l.Event), l.At, words(l.What))
			switch {
			case l.Cause != nil:
				fmt.Fprintf(s.stdout, "       brought by %s\n", causeWords(*l.Cause))
			case i < len(chain)-1 && chain[i+1].Rev == l.Rev:
				fmt.Fprintln(s.stdout, "       followed in the same commit from")
			default:
				fmt.Fprintln(s.stdout, "       followed from")
			}
		}
		last := chain[len(chain)-1]
		if born, ok := last.What.(events.ChatSpawned); ok {
			fmt.Fprintf(s.stdout, "       which goes on in that chat: everturn why %s %s\n", born.Parent.Chat, born.Parent.Call)
			return nil
		}
		if last.Cause == nil || last.Cause.Kind != events.CausedByCommand {
			return cli.Exit(cli.ExitIntegrity, fmt.Errorf("the log does not say what brought %s about", eventPlace(last.Rev, last.Event)))
		}
		return nil
	})
}

// causeWords is a cause for people.
func causeWords(c events.Cause) string {
	text := string(c.Kind) + " " + c.ID
	if c.Verb != "" {
		text += " (" + c.Verb
		if c.By != "" {
			text += " by " + c.By
		}
		text += ")"
	}
	return text
}

func printChain(w io.Writer, chain []replay.Link) error {
	out := json.NewEncoder(w)
	out.SetEscapeHTML(false)
	for _, l := range chain {
		data, err := events.EncodeEvent(l.What)
		if err != nil {
			return err
		}
		line := happened{
			Rev: l.Rev, Event: l.Event, At: l.At, Type: l.What.EventType(), About: replay.About(l.What), Data: data, Cause: l.Cause,
		}
		if err := out.Encode(line); err != nil {
			return err
		}
	}
	return nil
}
