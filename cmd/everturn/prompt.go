package main

import (
	"encoding/json"
	"fmt"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/internal/replay"
	"github.com/everturn/everturn/protocol"
)

// promptCommand is `everturn prompt`.
type promptCommand struct {
	history

	Chat    chatName `arg:"" help:"Which chat."`
	Step    stepName `arg:"" help:"Which step, such as 3.2."`
	Attempt int      `help:"Which attempt. Default: the last."`
	Full    bool     `help:"Put large content, and what the tools' manifests say, in the place of their digests."`
	JSON    bool     `help:"Print one JSON object, with the digest that was recorded and today's."`
}

// stepName is a step.
type stepName events.StepID

// UnmarshalText implements [encoding.TextUnmarshaler].
func (n *stepName) UnmarshalText(text []byte) error { return (*events.StepID)(n).UnmarshalText(text) }

// Run implements the command.
func (c *promptCommand) Run(s *surroundings) error {
	return c.commits(s, c.Chat, func(commits []events.Commit, a archive) error {
		until, asked, err := replay.Asked(commits, events.StepID(c.Step), c.Attempt)
		if err != nil {
			return err
		}
		state, err := replay.Fold(until, a.blob)
		if err != nil {
			return cli.Exit(cli.ExitIntegrity, err)
		}
		p, err := replay.Show(state, asked, c.fill(a, state.Key()))
		if err != nil {
			return err
		}
		return c.show(s, p)
	})
}

// fill has everything in full, if that is wanted.
func (c *promptCommand) fill(a archive, k events.Key) *replay.Filling {
	if !c.Full {
		return nil
	}
	f := &replay.Filling{
		Manifest: a.manifest,
		Content:  func(d events.Digest) ([]byte, error) { return a.blob(k, d) },
	}
	if f.Manifest == nil {
		f.Manifest = func(events.Digest) (protocol.Manifest, error) {
			return protocol.Manifest{}, cli.Exit(cli.ExitUsage, fmt.Errorf("--full: a file has nothing beside the logs; ask a server"))
		}
	}
	return f
}

// show prints the request, and says whether it is the one that was recorded.
func (c *promptCommand) show(s *surroundings, p replay.Shown) error {
	out := json.NewEncoder(s.stdout)
	out.SetEscapeHTML(false)
	var err error
	if c.JSON {
		err = out.Encode(p)
	} else {
		out.SetIndent("", "  ")
		err = out.Encode(p.Request)
		fmt.Fprintf(s.stderr, "step %s, attempt %d, rev %d: %d bytes, %s\n", p.Step, p.Attempt, p.Rev, p.Bytes, p.Digest)
	}
	if err != nil || p.Same {
		return err
	}
	return cli.Exit(cli.ExitIntegrity, fmt.Errorf("the model was shown %s; by the rules of today it would be %s", p.Recorded, p.Digest))
}
