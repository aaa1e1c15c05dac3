package main

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
)

// tailCommand is `everturn tail`.
type tailCommand struct {
	remote

	Chat      chatName `arg:"" help:"Which chat."`
	JSON      bool     `help:"Print each commit, delta and word of progress as one JSON object."`
	UntilIdle bool     `help:"End when no turn runs."`
}

// Run implements the command.
func (c *tailCommand) Run(s *surroundings) error {
	return c.connected(s, func(_ *nats.Conn, cl *client.Client) error {
		var view viewer = &liveView{out: s.stdout}
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
		for !c.UntilIdle || w.Running() {
			sight, err := w.Next(s.ctx)
			if err != nil {
				return err
			}
			view.see(sight)
		}
		return nil
	})
}
