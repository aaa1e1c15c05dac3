// Command talk says something to the assistant, shows the answer while it comes,
// and then what it took. It is an example of the Go client.
//
//	NATS_URL=nats://127.0.0.1:4222 go run ./examples/talk "What is the weather in Lisbon?"
package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/client"
	"github.com/everturn/everturn/events"
	"github.com/everturn/everturn/protocol/transcript"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Stdout, strings.Join(os.Args[1:], " "))
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "talk:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, stdout io.Writer, text string) error {
	nc, err := nats.Connect(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer nc.Close()
	c := client.New(nc, client.DefaultTenant, "user:"+cmp.Or(os.Getenv("USER"), "somebody"))

	// An id of one's own makes it the same chat the next time.
	chat, err := c.Ensure(ctx, "")
	if err != nil {
		return err
	}
	outcome, err := c.Say(ctx, chat, text, func(s client.Sight) { show(stdout, s) })
	if ctx.Err() != nil {
		// We may leave at any time: the turn goes on, unless it is interrupted.
		_, err := c.Interrupt(context.WithoutCancel(ctx), chat, 0, "nobody listens any more")
		return err
	}
	if err != nil {
		return err
	}
	if outcome.Status != transcript.TurnCompleted {
		return fmt.Errorf("the turn is %s: %s%s", outcome.Status, outcome.Message, outcome.Reason)
	}

	// Days later, from another machine: what was said is in the log.
	page, err := c.Transcript(ctx, chat)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(stdout, "\n\nchat %s: %s, %s, %s\n", chat,
		counted(len(page.Messages), "message"), counted(outcome.Totals.Steps, "step"), counted(outcome.Totals.Calls, "call"))
	return err
}

func counted(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// show prints the answer as it comes, and the calls that were made for it.
func show(stdout io.Writer, s client.Sight) {
	switch {
	case s.Delta != nil && s.Delta.Kind == string(events.PartText):
		fmt.Fprint(stdout, s.Delta.Text)
	case s.Commit != nil:
		for _, e := range s.Commit.Events {
			if done, ok := e.(events.ToolCompleted); ok {
				fmt.Fprintf(stdout, "\n[call %s: %s]\n", done.Call, done.Status)
			}
		}
	}
}
