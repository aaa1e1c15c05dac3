package main

import (
	"context"
	"errors"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
)

// instruction are the flags of commands that tell a chat something, and print what
// was decided.
type instruction struct {
	remote

	JSON bool `help:"Print the outcome as one JSON object."`
}

// to gives it to the chat.
func (c *instruction) to(s *surroundings, chat chatName, body protocol.Body) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		r, err := cl.Command(ctx, string(chat), body)
		return s.decided(string(chat), r, err, c.JSON)
	})
}

// interruptCommand is `everturn interrupt`.
type interruptCommand struct {
	instruction
	oneChat

	Turn   int    `help:"Which turn; without it, whatever turn runs when the command's place comes."`
	Reason string `help:"Why; stands in the log."`
}

// Run implements the command.
func (c *interruptCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Interrupt{V: protocol.Version, Turn: c.Turn, Reason: c.Reason})
}

// retryCommand is `everturn retry`.
type retryCommand struct {
	instruction
	oneChat

	Turn int `help:"Which turn; without it, the last."`
}

// Run implements the command.
func (c *retryCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Retry{V: protocol.Version, Turn: c.Turn})
}

// continueCommand is `everturn continue`.
type continueCommand struct {
	instruction
	oneChat

	Turn int `help:"Which turn; without it, the last."`
}

// Run implements the command.
func (c *continueCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Continue{V: protocol.Version, Turn: c.Turn})
}

// compactCommand is `everturn compact`.
type compactCommand struct {
	instruction
	oneChat
}

// Run implements the command.
func (c *compactCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Compact{V: protocol.Version})
}

// clearCommand is `everturn clear`.
type clearCommand struct {
	instruction
	oneChat
}

// Run implements the command.
func (c *clearCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Clear{V: protocol.Version})
}

// restoreCommand is `everturn restore`.
type restoreCommand struct {
	instruction
	oneChat
}

// Run implements the command.
func (c *restoreCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Restore{V: protocol.Version})
}

// withdrawCommand is `everturn withdraw`.
type withdrawCommand struct {
	instruction

	Chat  chatName `arg:"" help:"Which chat."`
	Input string   `arg:"" help:"Which input: the id that its send was answered with."`
}

// Run implements the command.
func (c *withdrawCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Withdraw{V: protocol.Version, Input: c.Input})
}

// promoteCommand is `everturn promote`.
type promoteCommand struct {
	instruction

	Chat      chatName `arg:"" help:"Which chat."`
	Input     string   `arg:"" help:"Which input: the id that its send was answered with."`
	Interrupt bool     `help:"Stop the turn that runs, so that it is read at once."`
}

// Run implements the command.
func (c *promoteCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Promote{V: protocol.Version, Input: c.Input, Interrupt: c.Interrupt})
}

// editInputCommand is `everturn edit-input`.
type editInputCommand struct {
	instruction
	attachFlags

	Chat  chatName `arg:"" help:"Which chat."`
	Input string   `arg:"" help:"Which input: the id that its send was answered with."`
	Text  string   `arg:"" help:"What it is to say instead, in quotes; - reads standard input. What was attached to it must be attached again."`
}

// Run implements the command.
func (c *editInputCommand) Run(s *surroundings) error {
	said, err := s.text([]string{c.Text})
	if err != nil {
		return err
	}
	attachments, err := c.attachments()
	if err != nil {
		return err
	}
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		parts := []events.Part{events.Text(said)}
		for _, a := range attachments {
			p, err := cl.Attach(ctx, string(c.Chat), a)
			if err != nil {
				return err
			}
			parts = append(parts, p)
		}
		r, err := cl.Command(ctx, string(c.Chat), protocol.EditInput{V: protocol.Version, Input: c.Input, Parts: parts})
		return s.decided(string(c.Chat), r, err, c.JSON)
	})
}

// renameCommand is `everturn rename`.
type renameCommand struct {
	instruction

	Chat  chatName `arg:"" help:"Which chat."`
	Title string   `arg:"" help:"The new title, in quotes."`
}

// Run implements the command.
func (c *renameCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Rename{V: protocol.Version, Title: c.Title})
}

// archiveCommand is `everturn archive`.
type archiveCommand struct {
	instruction
	oneChat
}

// Run implements the command.
func (c *archiveCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Archive{V: protocol.Version})
}

// unarchiveCommand is `everturn unarchive`.
type unarchiveCommand struct {
	instruction
	oneChat
}

// Run implements the command.
func (c *unarchiveCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Unarchive{V: protocol.Version})
}

// configureCommand is `everturn configure`.
type configureCommand struct {
	instruction
	oneChat
	settingsFlags

	ChatBudget budgetValue `group:"settings" placeholder:"BOUND=N,..." help:"What all turns of the chat may spend together, in the same way, without time."`
}

// Run implements the command.
func (c *configureCommand) Run(s *surroundings) error {
	settings := c.settings()
	if c.ChatBudget.budget != nil {
		if settings == nil {
			settings = &events.Settings{}
		}
		settings.ChatBudget = c.ChatBudget.budget
	}
	if settings == nil {
		return cli.Exit(cli.ExitUsage, errors.New("nothing to change: name a setting, for example --model"))
	}
	return c.to(s, c.Chat, protocol.Configure{V: protocol.Version, Settings: *settings})
}

// settingsFlags are settings of a chat, or of one turn of it.
type settingsFlags struct {
	Agent  string   `group:"settings" placeholder:"NAME" help:"Whose settings hold where none is named here; everturn agents list shows them."`
	Model  string   `group:"settings" placeholder:"NAME" help:"Which model answers; everturn models list names them."`
	System string   `group:"settings" placeholder:"TEXT" help:"What the model is told before everything else."`
	Skills []string `group:"settings" placeholder:"NAME,..." help:"The only skills that it is told of; none is no skill at all."`
	Tools  []string `group:"settings" placeholder:"NAME,..." help:"The only tools that it may call; none is no tool at all."`
	Steps  int      `group:"settings" placeholder:"N" help:"The most steps before somebody must speak again."`

	Approval     string          `group:"settings" enum:",ask,auto,full" default:"" placeholder:"MODE" help:"Which calls need approval: ask (all that are not read-only), auto (those whose tool wants it) or full (none)."`
	ApprovalTime time.Duration   `group:"settings" placeholder:"DURATION" help:"How long a call waits for approval before it is denied; 24h unless said otherwise."`
	Reviewer     string          `group:"settings" placeholder:"NAME" help:"Which model judges calls whose tool has the policy review, before a person is asked; none is none."`
	Titler       string          `group:"settings" placeholder:"NAME" help:"Which model proposes a title when the first turn is completed; none is none."`
	Budget       budgetValue     `group:"settings" placeholder:"BOUND=N,..." help:"What a turn may spend before it waits for more: tokens=N, cost=N in millionths, time=DURATION; none is no bound."`
	ClientTools  clientToolsFile `group:"settings" placeholder:"FILE" help:"Tools that you run yourself, as a JSON list; everturn client-result sends what they come to."`
}

// noTools stands in place of the names of tools, or of skills.
const noTools = "none"

// only is a list of names as settings have it; nil if none was given.
func only(names []string) *[]string {
	if names == nil {
		return nil
	}
	if len(names) == 1 && names[0] == noTools {
		names = []string{}
	}
	return &names
}

// settings are those that were named; nil if none was.
func (f *settingsFlags) settings() *events.Settings {
	s := events.Settings{
		Agent: f.Agent, Model: f.Model, System: f.System, ClientTools: f.ClientTools.tools,
		Reviewer: f.Reviewer, Titler: f.Titler, Budget: f.Budget.budget,
	}
	s.Tools, s.Skills = only(f.Tools), only(f.Skills)
	if f.Steps != 0 || f.ApprovalTime != 0 {
		s.Limits = &events.Limits{Steps: f.Steps, ApprovalMS: f.ApprovalTime.Milliseconds()}
	}
	s.Approval = events.ApprovalMode(f.Approval)
	if s.Agent == "" && s.Model == "" && s.System == "" && s.Tools == nil && s.Skills == nil && s.Limits == nil && s.Approval == "" && s.ClientTools == nil && s.Reviewer == "" && s.Titler == "" && s.Budget == nil {
		return nil
	}
	return &s
}
