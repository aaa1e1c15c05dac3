package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/internal/cli"
	"github.com/everturn/everturn/protocol/transcript"
)

// tailCommand is `everturn tail`.
type tailCommand struct {
	remote
	oneChat

	JSON      bool `help:"Print each commit, delta and word of progress as one JSON object."`
	UntilIdle bool `help:"End when no turn runs, with what became of the newest one; one that is over is shown."`
}

// Run implements the command.
func (c *tailCommand) Run(s *surroundings) error {
	return c.connected(s, func(_ *nats.Conn, cl *client.Client) error {
		var view viewer = &liveView{out: s.stdout, chat: string(c.Chat)}
		if c.JSON {
			view = jsonView{json.NewEncoder(s.stdout)}
		}
		w, err := cl.OpenWatcher(s.ctx, string(c.Chat))
		if err != nil {
			return err
		}
		defer w.Close()
		head, err := cl.Head(s.ctx, string(c.Chat))
		switch {
		case errors.Is(err, client.ErrNoService):
			fmt.Fprintln(s.stderr, "everturn:", err, "(what happens is shown all the same)")
		case err != nil:
			return err
		default:
			fmt.Fprintf(s.stderr, "chat %s, rev %d, %s\n", head.Chat, head.Rev, head.Status)
		}
		if err := c.open(s, cl, w, view); err != nil {
			return err
		}
		others := &kin{client: cl, chat: string(c.Chat), wait: time.Duration(c.Wait)}
		if w.Running() {
			view.awaits(others.look(s.ctx))
		}
		seen := w.Running()
		for !c.UntilIdle || w.Running() {
			sight, err := others.watch(s.ctx, w, view)
			if err != nil {
				return err
			}
			view.see(sight)
			if erases(sight) {
				return nil // nothing will ever happen in it again
			}
		}
		return c.end(s, cl, seen)
	})
}

// open shows what the chat waits for already.
func (c *tailCommand) open(s *surroundings, cl *client.Client, w *client.Watcher, view viewer) error {
	if !w.Running() {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Wait))
	defer cancel()
	open, err := openIn(ctx, cl, string(c.Chat))
	if err != nil {
		fmt.Fprintln(s.stderr, "everturn:", err, "(if the chat waits for something, it is not shown)")
	}
	if err != nil || len(open.calls) == 0 {
		return nil
	}
	return open.show(view, s.stdout, c.JSON)
}

// erases reports whether what is seen is the end of the chat itself.
func erases(sight client.Sight) bool {
	if sight.Commit == nil {
		return false
	}
	_, erased := sight.Commit.Events[0].(events.ChatErased)
	return erased
}

// end tells what became of the newest turn, and ends as it did. Its answer is
// shown if nothing of the turn was seen.
func (c *tailCommand) end(s *surroundings, cl *client.Client, seen bool) error {
	ctx, cancel := context.WithTimeout(s.ctx, time.Duration(c.Wait))
	defer cancel()
	turn, answer, err := newestTurn(ctx, cl, string(c.Chat))
	switch {
	case errors.Is(err, client.ErrNoService) && seen:
		return nil // it was shown, and who watches was told that nobody answers
	case err != nil:
		return err
	case turn.Turn == 0:
		return nil // nothing was ever said
	case c.JSON:
		if err := printTurn(s.stdout, turn); err != nil {
			return err
		}
	case !seen:
		view := &liveView{out: s.stdout}
		view.printf("%s", answer)
		view.line()
		if turn.Status == transcript.TurnInterrupted {
			view.event(events.TurnInterrupted{Turn: turn.Turn})
		}
	}
	if why := failed(turn); why != "" {
		return cli.Exit(cli.ExitProvider, errors.New(why))
	}
	return nil
}

// newestTurn is what the transcript says of a chat's newest turn, and the last
// that the assistant said in it. Without a turn its number is 0.
func newestTurn(ctx context.Context, cl *client.Client, chat string) (turn client.Outcome, answer string, err error) {
	head, err := cl.Head(ctx, chat)
	if err != nil {
		return turn, "", err
	}
	request := transcript.Request{Chat: chat, MinRev: head.Rev, After: max(0, head.MessageCount-1)}
	err = cl.Pages(ctx, request, func(page transcript.Page) error {
		for _, t := range page.Turns {
			turn = client.Outcome{
				Turn: t.Turn, Status: t.Status, Finish: t.Finish, Class: t.Class, Message: t.Message, Reason: t.Reason, Totals: t.Totals,
			}
		}
		for _, m := range page.Messages {
			if m.Role == transcript.RoleAssistant {
				answer = spoken(m)
			}
		}
		return nil
	})
	return turn, answer, err
}

// spoken is the text of a message.
func spoken(m transcript.Message) string {
	var b strings.Builder
	for _, p := range m.Parts {
		if p.Type == events.PartText {
			b.WriteString(p.Text)
		}
		if p.Truncated {
			b.WriteString(" …")
		}
	}
	return b.String()
}
