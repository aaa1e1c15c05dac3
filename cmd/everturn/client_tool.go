package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
)

// ownResultCommand is `everturn client-result`.
type ownResultCommand struct {
	instruction

	Chat  chatName `arg:"" help:"Which chat."`
	Call  callName `arg:"" help:"Which call the client has run: its id, such as 3.2.1, as the transcript shows it."`
	Text  string   `arg:"" optional:"" help:"What it came to, in quotes; - reads standard input."`
	Error bool     `help:"It failed: the model is told so."`
}

// Run implements the command.
func (c *ownResultCommand) Run(s *surroundings) error {
	body := protocol.ClientResult{V: protocol.Version, Call: events.CallID(c.Call), IsError: c.Error}
	if c.Text != "" {
		text, err := s.text([]string{c.Text})
		if err != nil {
			return err
		}
		body.Parts = []events.Part{events.Text(text)}
	}
	return c.to(s, c.Chat, body)
}

// clientToolsFile is a file with the tools that a client runs itself.
type clientToolsFile struct {
	tools *[]events.ClientTool
}

// UnmarshalText implements [encoding.TextUnmarshaler]: it reads the file of that name.
func (f *clientToolsFile) UnmarshalText(name []byte) error {
	b, err := os.ReadFile(string(name))
	if err != nil {
		return cli.Exit(cli.ExitUsage, err)
	}
	f.tools = new([]events.ClientTool)
	if err := json.Unmarshal(b, f.tools); err != nil {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%s: want a JSON list of tools, each with name, description and schema: %w", name, err))
	}
	if *f.tools == nil {
		return cli.Exit(cli.ExitUsage, errors.New(string(name)+": want a JSON list of tools, not null"))
	}
	return nil
}
