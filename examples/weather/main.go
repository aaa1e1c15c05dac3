// Command weather is a tool runner with a tool of its own. It is an example of
// embedding tools: start as many as you like, and kill any of them.
//
//	NATS_URL=nats://127.0.0.1:4222 go run ./examples/weather
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/nats-io/nats.go"

	"github.com/everturn/everturn/protocol"
	"github.com/everturn/everturn/streams"
	"github.com/everturn/everturn/toolrunner"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "weather:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	nc, err := nats.Connect(cmp.Or(os.Getenv("NATS_URL"), nats.DefaultURL), nats.MaxReconnects(-1))
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer nc.Close() // the runner has settled everything it had in hand by then
	bus, err := streams.OpenRunner(nc, streams.Options{})
	if err != nil {
		return err
	}
	defer bus.Close()
	r, err := toolrunner.New(toolrunner.Config{
		Group:   "weather", // a queue of its own; every runner of it has the same tools
		Log:     slog.New(slog.NewTextHandler(os.Stderr, nil)),
		Offered: func() { fmt.Println("the weather is known") },
	}, bus, []toolrunner.Tool{weather()})
	if err != nil {
		return err
	}
	if err := r.Run(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil // what ran has ended, or was handed back
}

// weather is the tool: what the model is told about it, and what it does.
func weather() toolrunner.Tool {
	return toolrunner.Func(protocol.Manifest{
		Name:        "weather",
		Description: "Tells the weather at a place today.",
		Schema: json.RawMessage(`{
			"type": "object",
			"properties": {"place": {"type": "string", "description": "A town.", "minLength": 1, "maxLength": 100}},
			"required": ["place"],
			"additionalProperties": false
		}`),
		// It changes nothing, so it may run together with others, and again after
		// a crash. A tool that sends or books says neither: then it is never run
		// twice, and after a crash in the wrong second its outcome is "unknown".
		ReadOnly:   true,
		Idempotent: true,
	}, func(ctx context.Context, c toolrunner.Call) (toolrunner.Output, error) {
		var arguments struct {
			Place string `json:"place"`
		}
		if err := json.Unmarshal(c.Arguments, &arguments); err != nil { // they were checked against the schema
			return toolrunner.Output{}, err
		}
		c.Progress("looking out of the window in " + arguments.Place)
		if err := ctx.Err(); err != nil { // stopped, too late, or not wanted any more
			return toolrunner.Output{}, err
		}
		return toolrunner.Output{Text: "Sunny in " + arguments.Place + ", 21 °C."}, nil
	})
}
