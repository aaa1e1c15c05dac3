package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/protocol/transcript"
)

// editCommand is `everturn edit`.
type editCommand struct {
	instruction
	settingsFlags

	Chat  chatName `arg:"" help:"Which chat."`
	Text  []string `arg:"" help:"What to say instead, in quotes; - reads standard input."`
	Turn  int      `help:"In which turn; without it, the last of the selected branch."`
	Input string   `help:"Which of its inputs, by id; without it, all of them."`
}

// Run implements the command.
func (c *editCommand) Run(s *surroundings) error {
	if len(c.Text) > 1 {
		return cli.Exit(cli.ExitUsage, fmt.Errorf("%d texts: put what is to be said in quotes", len(c.Text)))
	}
	said, err := s.text(c.Text)
	if err != nil {
		return err
	}
	return c.to(s, c.Chat, protocol.Edit{
		V: protocol.Version, Turn: c.Turn, Input: c.Input, Parts: []events.Part{events.Text(said)}, Settings: c.settings(),
	})
}

// regenerateCommand is `everturn regenerate`.
type regenerateCommand struct {
	instruction
	oneChat

	Turn int `help:"Which turn; without it, the last of the selected branch."`
}

// Run implements the command.
func (c *regenerateCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.Regenerate{V: protocol.Version, Turn: c.Turn})
}

// branchCommand is `everturn branch`.
type branchCommand struct {
	List   branchListCommand   `cmd:"" help:"Show a chat's branches."`
	Select branchSelectCommand `cmd:"" help:"Go on with a branch, or from the middle of one."`
}

// branchListCommand is `everturn branch list`.
type branchListCommand struct {
	remote
	oneChat

	JSON bool `help:"Print them as one JSON object."`
}

// Run implements the command.
func (c *branchListCommand) Run(s *surroundings) error {
	return c.with(s, func(ctx context.Context, _ *nats.Conn, cl *client.Client) error {
		b, err := cl.Branches(ctx, string(c.Chat))
		if err != nil {
			return err
		}
		if c.JSON {
			return json.NewEncoder(s.stdout).Encode(b)
		}
		return s.branches(b)
	})
}

// branches prints the branches of a chat, one a line.
func (s *surroundings) branches(b transcript.Branches) error {
	w := tabwriter.NewWriter(s.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "\tTURN\tFROM\tTURNS\tSTATUS\tAT\tLAST SAID")
	for _, branch := range b.Branches {
		mark, from := "", strconv.Itoa(branch.From)
		if branch.Selected {
			mark, from = "*", ""
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%d\t%s\t%s\t%s\n", mark, branch.Turn, from, branch.TurnCount, branch.Status,
			branch.At.Time().Local().Format(time.DateTime), events.VisibleText(branch.Text))
	}
	return w.Flush()
}

// branchSelectCommand is `everturn branch select`.
type branchSelectCommand struct {
	instruction

	Chat chatName `arg:"" help:"Which chat."`
	Turn int      `arg:"" help:"The turn that the next one is to follow."`
}

// Run implements the command.
func (c *branchSelectCommand) Run(s *surroundings) error {
	return c.to(s, c.Chat, protocol.SelectBranch{V: protocol.Version, Turn: c.Turn})
}

// Lines of `everturn chat` about branches.
const (
	lineEdit       = "/edit"
	lineRegenerate = "/regenerate"
	lineBranch     = "/branch"
)

// isBranchLine reports whether a line is about branches.
func isBranchLine(text string) bool {
	word, _, _ := strings.Cut(text, " ")
	return word == lineEdit || word == lineRegenerate || word == lineBranch
}

// branch does what such a line says. What a chat does not do is told, and the
// conversation goes on.
func (t *talk) branch(ctx context.Context, text string) error {
	word, rest, _ := strings.Cut(text, " ")
	rest = strings.TrimSpace(rest)
	switch {
	case word == lineEdit && rest == "":
		fmt.Fprintln(t.s.stderr, "/edit TEXT says something else in place of what was said last")
		return nil
	case word == lineEdit:
		return t.turnedDown(t.toldAnswer(ctx, protocol.Edit{
			V: protocol.Version, Parts: []events.Part{events.Text(rest)}, Settings: t.c.settings(),
		}))
	case word == lineRegenerate:
		return t.turnedDown(t.toldAnswer(ctx, protocol.Regenerate{V: protocol.Version}))
	}
	try, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	defer cancel()
	if rest == "" {
		b, err := t.client.Branches(try, t.chat)
		if err != nil {
			return t.turnedDown(err)
		}
		return t.s.branches(b)
	}
	turn, err := strconv.Atoi(rest)
	if err != nil {
		fmt.Fprintln(t.s.stderr, "/branch lists the branches, /branch TURN goes on behind that turn")
		return nil
	}
	if _, err := t.client.Command(try, t.chat, protocol.SelectBranch{V: protocol.Version, Turn: turn}); err != nil {
		return t.turnedDown(err)
	}
	return t.s.transcript(try, t.client, transcript.Request{Chat: t.chat}, t.c.JSON)
}

// turnedDown tells a no; any other error ends the conversation.
func (t *talk) turnedDown(err error) error {
	if rejected, ok := errors.AsType[*client.RejectedError](err); ok {
		fmt.Fprintln(t.s.stderr, "everturn:", events.VisibleText(rejected.Error()))
		return nil
	}
	if errors.Is(err, client.ErrNotBegun) || errors.Is(err, client.ErrWithdrawn) { // by somebody else
		fmt.Fprintln(t.s.stderr, "everturn:", err)
		return nil
	}
	return err
}

// toldAnswer gives the chat a command, and shows the turn that follows from it.
func (t *talk) toldAnswer(ctx context.Context, body protocol.Body) error {
	try, cancel := context.WithTimeout(ctx, time.Duration(t.c.Wait))
	reply, err := t.client.Command(try, t.chat, body)
	cancel()
	if err != nil {
		return err
	}
	return t.follow(ctx, reply)
}
